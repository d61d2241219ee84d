package stream

import (
	"cmp"
	"encoding/json"
	"errors"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/google/uuid"
)

// tally collects the contents of the result object from events.
type tally struct {
	denials   []denial
	stop      string // stop reason of the lead's last answer
	waited    time.Duration
	requested time.Time // when the lead's open request left
	ends      map[mailbox.AgentID]agentEnd
	order     []mailbox.AgentID // of ends
}

// agentEnd is the end of an agent's last turn in this run.
type agentEnd struct {
	Name    string `json:"name"`
	ID      string `json:"id"`
	Type    string `json:"type"`
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
}

type denial struct {
	Tool  string          `json:"tool_name"`
	ID    string          `json:"tool_use_id"`
	Input json.RawMessage `json:"tool_input"`
}

func newTally() *tally {
	return &tally{denials: []denial{}, ends: map[mailbox.AgentID]agentEnd{}}
}

func (t *tally) add(e event.Event) {
	if f, ok := e.Fact.(event.Denied); ok {
		t.denials = append(t.denials, denial{f.Call.Name, f.Call.ID, f.Call.Input})
	}
	if e.Agent.ID != agent.LeadID {
		t.ended(e)
		return
	}
	switch f := e.Fact.(type) {
	case event.Requested:
		t.requested = e.Time
	case event.Answered:
		t.stop = f.Answer.StopReason
		if !t.requested.IsZero() {
			t.waited += e.Time.Sub(t.requested)
			t.requested = time.Time{}
		}
	}
}

// ended records the end of a turn of an agent under the lead; a later one replaces it.
func (t *tally) ended(e event.Event) {
	f, ok := e.Fact.(event.TurnEnded)
	if !ok {
		return
	}
	a := e.Agent
	if _, again := t.ends[a.ID]; !again {
		t.order = append(t.order, a.ID)
	}
	t.ends[a.ID] = agentEnd{a.Name, string(a.ID), a.Type, f.Outcome, f.Reason}
}

func (t *tally) agents() []agentEnd {
	all := make([]agentEnd, 0, len(t.order))
	for _, id := range t.order {
		all = append(all, t.ends[id])
	}
	return all
}

// resultLine is the result object of the json and stream-json formats. Costs are
// in dollars, and null when a model without a price was used.
type resultLine struct {
	Type       string                `json:"type"`
	Subtype    string                `json:"subtype"`
	IsError    bool                  `json:"is_error"`
	DurationMS int64                 `json:"duration_ms"`
	APIMS      int64                 `json:"duration_api_ms"`
	Turns      int                   `json:"num_turns"`
	Result     *string               `json:"result,omitempty"`
	Errors     []string              `json:"errors,omitempty"`
	StopReason *string               `json:"stop_reason"`
	Terminal   string                `json:"terminal_reason,omitempty"`
	Deferred   *deferredCall         `json:"deferred_tool_use,omitempty"`
	Session    string                `json:"session_id"`
	Cost       swarm.Cost            `json:"total_cost_usd"`
	Usage      model.Usage           `json:"usage"`
	ModelUsage map[string]modelUsage `json:"modelUsage"`
	Denials    []denial              `json:"permission_denials"`
	Agents     []agentEnd            `json:"agents"` // those under the lead, in the order of their first ends
	UUID       string                `json:"uuid"`
}

// deferredCall is a call at which a hook has ended the session.
type deferredCall struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type modelUsage struct {
	Input      int64      `json:"inputTokens"`
	Output     int64      `json:"outputTokens"`
	CacheRead  int64      `json:"cacheReadInputTokens"`
	CacheWrite int64      `json:"cacheCreationInputTokens"`
	Cost       swarm.Cost `json:"costUSD"`
}

func (t *tally) result(v view.RunResult) resultLine {
	r := resultLine{
		Type: "result", Subtype: "success", Session: v.Session, UUID: uuid.NewString(),
		DurationMS: v.Took.Milliseconds(), APIMS: t.waited.Milliseconds(), Turns: v.Steps,
		Usage: v.Usage, Cost: v.Cost, ModelUsage: map[string]modelUsage{}, Denials: t.denials,
		Agents: t.agents(),
	}
	if t.stop != "" {
		r.StopReason = &t.stop
	}
	for name, u := range v.Tree {
		r.ModelUsage[name] = modelUsage{u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.Cost}
	}
	var deferred *actors.DeferredError
	switch {
	case errors.As(v.Err, &deferred):
		stop := "tool_deferred"
		r.StopReason, r.Terminal = &stop, stop
		r.Deferred = &deferredCall{deferred.ID, deferred.Tool, deferred.Input}
		return r
	case v.Err == nil && v.Outcome == "completed":
		r.Result, r.Terminal = &v.Text, "completed"
		return r
	case v.Err == nil && v.Outcome == "max_turns":
		r.Subtype, r.Terminal = "error_max_turns", "max_turns"
	case v.Err == nil && v.Outcome == "over_budget":
		r.Subtype, r.Terminal = "error_max_budget_usd", "budget_exhausted"
	default:
		r.Subtype = "error_during_execution"
		if v.Outcome == "interrupted" || errors.Is(v.Err, swarm.ErrInterrupted) {
			r.Terminal = t.abortedPart()
		}
	}
	r.IsError = true
	r.Errors = reasons(v)
	return r
}

// abortedPart returns what an interrupt has cut off: an answer or the tools after it.
func (t *tally) abortedPart() string {
	if t.requested.IsZero() {
		return "aborted_tools"
	}
	return "aborted_streaming"
}

func reasons(v view.RunResult) []string {
	if v.Err != nil {
		return []string{v.Err.Error()}
	}
	return []string{cmp.Or(v.Reason, string(v.Outcome), "the lead did not answer")}
}
