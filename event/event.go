// Package event holds the typed facts that the runtime reports to observers,
// and the bus that carries them.
//
//	sub := bus.Subscribe()
//	defer sub.Close()
//	for {
//		e, err := sub.Next(ctx)
//		if err != nil {
//			return err // ErrClosed at the end of the session
//		}
//		if w, is := e.Fact.(event.Warning); is {
//			log.Print(w.Text)
//		}
//	}
//
// Laws:
//
//   - One order. Every subscriber gets its facts in the order in which
//     they were published (TestEverySubscriberSeesOneOrder).
//   - Only deltas are dropped. A Delta may be dropped for a subscriber that is behind;
//     every other fact is delivered to each subscriber that keeps reading
//     (TestOnlyDeltasAreDroppedForWhoIsBehind).
//   - Observers have no influence. Publish never waits for a subscriber, so a
//     viewer that stops reading costs memory for its unread facts and
//     slows nobody (TestOnlyDeltasAreDroppedForWhoIsBehind).
//
// Not promised: durability. What must survive a crash is in the journal; an event
// is published after its fact was recorded.
package event

import (
	"encoding/json"
	"time"

	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

// Agent identifies the agent that a fact is about.
type Agent struct {
	ID     mailbox.AgentID `json:"id"`
	Name   string          `json:"name"`
	Type   string          `json:"type"`
	Color  string          `json:"color,omitempty"`
	Parent mailbox.AgentID `json:"parent,omitempty"`
	// Call is the parent's tool call that this agent answers, if any.
	Call string `json:"call,omitempty"`
}

// Event is one fact about one agent.
type Event struct {
	Seq   uint64 // rises by one for each published fact
	Time  time.Time
	Agent Agent
	Fact  Fact
}

// Fact is one of the types of this package.
type Fact interface{ fact() string }

// Type returns the name of the fact's type in encoded events, such as "call_started".
func Type(f Fact) string { return f.fact() }

// The facts.
type (
	// Started: an agent exists and its first turn is about to begin.
	Started struct {
		Model      string `json:"model"`
		Task       string `json:"task,omitempty"` // in a few words, for people
		Prompt     string `json:"prompt,omitempty"`
		Background bool   `json:"background,omitempty"`
		Resumed    bool   `json:"resumed,omitempty"`
	}
	// StateChanged: the state of an agent changed.
	StateChanged struct {
		From   string `json:"from"`
		To     string `json:"to"`
		Reason string `json:"reason,omitempty"`
	}
	// Delta: a piece of a streaming answer. Only this fact may be dropped.
	Delta struct {
		Text     string `json:"text"`
		Thinking bool   `json:"thinking,omitempty"`
	}
	// Requested: a model request was recorded and is about to be sent.
	Requested struct {
		Step int          `json:"step"`
		Mail []mailbox.ID `json:"mail,omitempty"` // messages that are new in it
	}
	// Answered: a model answer was recorded.
	Answered struct {
		Answer *model.Answer `json:"answer"`
	}
	// BackingOff: a request waits before its next attempt.
	BackingOff struct {
		Backoff model.Backoff `json:"backoff"`
	}
	// CallStarted: a tool call begins.
	CallStarted struct {
		Call model.Call `json:"call"`
	}
	// CallFinished: the result of a tool call was recorded.
	CallFinished struct {
		Call    model.Call      `json:"call"`
		Text    string          `json:"text"`
		IsError bool            `json:"is_error,omitempty"`
		Detail  json.RawMessage `json:"detail,omitempty"`
		Took    time.Duration   `json:"took"`
	}
	// Denied: permission for a tool call was refused.
	Denied struct {
		Call   model.Call `json:"call"`
		Rule   string     `json:"rule"`
		Reason string     `json:"reason"`
	}
	// Judged: a model has judged a call, or the report of the agent, in mode auto.
	Judged struct {
		Call    model.Call    `json:"call"` // the zero value is the report
		Model   string        `json:"model"`
		Verdict string        `json:"verdict,omitempty"` // allow or deny; "" if it gave none
		Reason  string        `json:"reason"`
		Took    time.Duration `json:"took"`
	}
	// Asked: the agent waits for a person's answer.
	Asked struct {
		Question Question `json:"question"`
	}
	// QuestionResolved: the agent no longer waits for an answer.
	QuestionResolved struct {
		ID    string `json:"id"`
		State string `json:"state"` // answered, expired, withdrawn, or covered by a new rule
		Allow bool   `json:"allow"`
		By    string `json:"by,omitempty"`
		Note  string `json:"note,omitempty"`
	}
	// MailSent: a message of this agent was accepted (it is on disk).
	MailSent struct {
		Envelope mailbox.Envelope `json:"envelope"`
	}
	// MailArrived: a message to this agent was delivered (it is in the transcript).
	MailArrived struct {
		Envelope mailbox.Envelope `json:"envelope"`
	}
	// MailStateChanged: the state of messages that this agent sent has changed.
	MailStateChanged struct {
		IDs   []mailbox.ID  `json:"ids"`
		State mailbox.State `json:"state"`
	}
	// Compacting: an older part of the conversation is about to be summarised.
	Compacting struct {
		Trigger string `json:"trigger"` // auto, manual, too_long
		Tokens  int64  `json:"tokens"`  // of the conversation
	}
	// Compacted: a compaction was recorded or, with Failed set, failed.
	Compacted struct {
		Trigger string        `json:"trigger"`
		Tokens  int64         `json:"tokens"` // of the conversation before
		Summary string        `json:"summary,omitempty"`
		Usage   model.Usage   `json:"usage"` // of the request for the summary
		Took    time.Duration `json:"took"`
		Failed  string        `json:"failed,omitempty"`
	}
	// Progress: the work of an agent other than the lead, at most once a second.
	Progress struct {
		ToolUses int           `json:"tool_uses"`
		Tokens   int64         `json:"tokens"` // of all its requests, cached or not
		LastTool string        `json:"last_tool,omitempty"`
		Took     time.Duration `json:"took"` // since it began or was woken
	}
	// Preempted: a control message interrupted the agent; a streaming answer is void.
	Preempted struct{}
	// TurnEnded: an agent has nothing left to do.
	TurnEnded struct {
		Outcome string        `json:"outcome"` // completed, max_turns, interrupted, stopped, failed, …
		Text    string        `json:"text"`
		Reason  string        `json:"reason,omitempty"`
		Steps   int           `json:"steps"`
		Usage   model.Usage   `json:"usage"`
		Took    time.Duration `json:"took"`
	}
	// ShutdownMoved: the phase of a member's shutdown changed.
	ShutdownMoved struct {
		ID     string          `json:"request_id"`
		Phase  string          `json:"phase"` // asked, objected, ending, gone
		By     mailbox.AgentID `json:"by"`
		Reason string          `json:"reason,omitempty"` // of the phase
	}
	// PlanMoved: the phase of an agent's plan changed.
	PlanMoved struct {
		ID       string          `json:"request_id,omitempty"`
		Phase    string          `json:"phase"` // drafting (also after a rejection), pending, approved
		By       mailbox.AgentID `json:"by,omitempty"`
		Feedback string          `json:"feedback,omitempty"`
	}
	// Audit: something was attempted without permission, and refused.
	Audit struct {
		By      string `json:"by,omitempty"`      // an agent or a program; "" if unknown
		From    string `json:"from,omitempty"`    // its network address, if known
		Subject string `json:"subject,omitempty"` // what was attempted
		Reason  string `json:"reason"`
	}
	// Prompted: the user prompted an idle agent. A busy one gets a message.
	Prompted struct {
		Text string `json:"text"`
	}
	// Warning: a problem for a person.
	Warning struct {
		Text string `json:"text"`
	}
	// Hint: information for a person that needs no action.
	Hint struct {
		Text string `json:"text"`
	}
)

func (Started) fact() string          { return "started" }
func (StateChanged) fact() string     { return "state_changed" }
func (Delta) fact() string            { return "delta" }
func (Requested) fact() string        { return "requested" }
func (Answered) fact() string         { return "answered" }
func (BackingOff) fact() string       { return "backing_off" }
func (CallStarted) fact() string      { return "call_started" }
func (CallFinished) fact() string     { return "call_finished" }
func (Denied) fact() string           { return "denied" }
func (Judged) fact() string           { return "judged" }
func (Asked) fact() string            { return "asked" }
func (QuestionResolved) fact() string { return "question_settled" }
func (MailSent) fact() string         { return "mail_sent" }
func (MailArrived) fact() string      { return "mail_arrived" }
func (MailStateChanged) fact() string { return "mail_settled" }
func (Compacting) fact() string       { return "compacting" }
func (Compacted) fact() string        { return "compacted" }
func (Progress) fact() string         { return "progress" }
func (Preempted) fact() string        { return "preempted" }
func (TurnEnded) fact() string        { return "turn_ended" }
func (ShutdownMoved) fact() string    { return "shutdown_moved" }
func (PlanMoved) fact() string        { return "plan_moved" }
func (Audit) fact() string            { return "audit" }
func (Prompted) fact() string         { return "prompted" }
func (Warning) fact() string          { return "warning" }
func (Hint) fact() string             { return "hint" }
