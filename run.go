package swarm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/price"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team"
)

// Result is the result of a run of the lead.
type Result struct {
	Session string
	Text    string              // of the lead's last turn
	Outcome agent.Outcome       // of the lead's last turn
	Reason  string              // why, unless completed
	Steps   int                 // model answers of the lead in this run
	Usage   model.Usage         // of the lead in this run
	Tree    map[string]ModelUse // by exact model id, of all agents so far
	Cost    Cost                // of all agents so far
	Agents  int                 // so far, the lead included
	Took    time.Duration
}

// ErrInterrupted is the error of Run when its context ends: the lead's turn was stopped,
// and everything is on disk.
var ErrInterrupted = turn.ErrInterrupted

// Run sends the lead a prompt and returns when all agents rest: no turn runs and no message
// is unread. When ctx ends, Run stops the lead's turn and returns ErrInterrupted.
func (s *Session) Run(ctx context.Context, prompt string) (Result, error) {
	if strings.TrimSpace(prompt) == "" {
		return Result{}, errEmptyPrompt
	}
	lead, err := s.lead.Get()
	if err != nil {
		return Result{}, err
	}
	if err := s.lead.Reopen(lead); err != nil {
		return Result{}, err
	}
	before := lead.Record()
	if err := s.record.SetPrompt(prompt); err != nil {
		return Result{}, err
	}
	if err := s.lead.Prompt(ctx, lead, prompt); err != nil {
		return Result{}, err
	}
	return s.follow(ctx, lead, before)
}

// Resume continues all turns that a crash or a shutdown interrupted, and returns when all
// agents rest.
func (s *Session) Resume(ctx context.Context) (Result, error) {
	lead, err := s.lead.Get()
	if err != nil {
		return Result{}, err
	}
	return s.follow(ctx, lead, lead.Record())
}

// follow starts the agents and waits until they rest.
func (s *Session) follow(ctx context.Context, lead *transcript.Transcript, before agent.Record) (Result, error) {
	begun := time.Now()
	if err := s.Wake(); err != nil {
		return Result{}, err
	}
	s.agents.Wake(lead.ID())
	err := s.Quiet(ctx)
	if err != nil && s.scope.Err() == nil {
		if err = s.control.StopLead(closeWithin); err == nil {
			err = ErrInterrupted
		}
	}
	s.peers.Flush(ctx)
	return s.result(lead, before, time.Since(begun)), err
}

// Wake starts the session's agents: interrupted turns continue. Run and Resume call it.
func (s *Session) Wake() error {
	// An external server may be unreachable; then nothing starts. An embedded one starts
	// beside the first request.
	if s.opts.NATS.URL != "" {
		if _, err := s.bus.Conn(s.scope); err != nil {
			return err
		}
	}
	return s.node.Wake()
}

// Quiet returns when all agents rest: no turn runs, and no message is unread or on its way.
func (s *Session) Quiet(ctx context.Context) error { return s.node.Quiet(ctx) }

func (s *Session) result(lead *transcript.Transcript, before agent.Record, took time.Duration) Result {
	now := lead.Record()
	r := Result{
		Session: s.Info().ID, Text: now.Result, Outcome: now.Outcome, Reason: now.Reason,
		Steps: now.Steps - before.Steps, Took: took, Usage: minus(now, before),
	}
	all := s.agents.Status()
	r.Tree, r.Cost = byModel(all, s.parts.Prices)
	r.Agents = len(all) - 1 // without the user
	return r
}

// Begin creates the lead, if there is none yet, and starts the agents: interrupted turns
// continue. It is for callers that talk with the lead through Say; Run and Resume call it.
// The error is a NoModelError if no model is configured for the lead.
func (s *Session) Begin() error {
	if _, err := s.lead.Get(); err != nil {
		return err
	}
	return s.Wake()
}

// Say sends the lead a text of the user and returns when it is on disk. A lead at work
// reads it at its next step; otherwise it begins a turn. Answers come as events.
func (s *Session) Say(text string) error {
	if strings.TrimSpace(text) == "" {
		return errEmptyPrompt
	}
	if err := s.Begin(); err != nil {
		return err
	}
	lead, err := s.lead.Get()
	if err != nil {
		return err
	}
	if err := s.lead.Reopen(lead); err != nil {
		return err
	}
	if err := s.record.SetPrompt(text); err != nil {
		return err
	}
	if s.control.LeadRuns() {
		user, ok := s.store.Get(agent.UserID)
		if !ok {
			return archive.ErrNoOutbox
		}
		_, err := s.roster.Send(user, team.Message{To: string(agent.LeadID), Text: text})
		return err
	}
	if err := s.lead.Prompt(s.scope, lead, text); err != nil {
		return err
	}
	s.events.Publish(agent.Describe(lead.Spec()), event.Prompted{Text: text})
	s.agents.Wake(agent.LeadID)
	return nil
}

var errEmptyPrompt = errors.New("the prompt is empty; say what is to be done")

// Interrupt ends the lead's turn and the foreground agents that it waits for. Background
// agents and teammates continue, and no agent ends for good. Interrupt returns at once and
// reports whether there was a turn to end.
func (s *Session) Interrupt() bool { return s.control.InterruptLead() }

// InterruptAgent is Interrupt for any agent, by name or id: its turn ends with the agents
// that it waits for, and its next message starts another.
func (s *Session) InterruptAgent(name string) (bool, error) { return s.control.Interrupt(name) }

// BackgroundForeground moves everything that the lead waits for to the background: its
// foreground agents and the command that it runs itself. It returns their names.
func (s *Session) BackgroundForeground() []string { return s.control.BackgroundAll() }

// SetModel changes the lead's model from its next turn on: to an alias, an id, "openai:ID"
// or "script:FILE". A name that no provider knows changes nothing and is an error.
func (s *Session) SetModel(name string) error {
	if _, _, err := s.parts.Models.Find(name); err != nil {
		return fmt.Errorf("the model %s cannot be used: %w", name, err)
	}
	if err := s.lead.SetModel(name); err != nil {
		return err
	}
	return s.record.Update(func(i *Info) error { i.Model = name; return nil })
}

// Exchange is a text of the user and the lead's answer. Answer is empty while there is
// none.
type Exchange = session.Exchange

// LastExchange returns the newest exchange of the user with the lead, with empty texts if
// there is none.
func (s *Session) LastExchange() (Exchange, error) { return s.lead.LastExchange() }

// Limits bound what agents may use together; a zero field is no limit. Money is
// a multiple of Dollar.
type Limits = budget.Limits

// USD is an amount of money.
type USD = budget.USD

// Cost is the cost of something, as far as it is known.
type Cost = budget.Cost

// Dollar is one US dollar.
const Dollar = budget.Dollar

// ParseUSD reads an amount such as 5, 0.25 or $1,000.
func ParseUSD(text string) (USD, error) { return budget.ParseUSD(text) }

// ModelUse is the use of one model. Cost is unknown if the model has no price.
type ModelUse struct {
	model.Usage
	Cost Cost
}

// byModel returns the use of agents by the exact ids of their models.
func byModel(all []actors.Status, t *price.Table) (tree map[string]ModelUse, cost budget.Cost) {
	tree = map[string]ModelUse{}
	for _, a := range all {
		for _, u := range a.Record.Models {
			sum := tree[u.Model]
			tree[u.Model] = ModelUse{sum.Add(u.Usage), sum.Cost.Add(u.Cost(t))}
		}
		cost = cost.Add(a.Cost)
	}
	return tree, cost
}

func minus(a, b agent.Record) model.Usage {
	return model.Usage{
		InputTokens:              a.Usage.InputTokens - b.Usage.InputTokens,
		OutputTokens:             a.Usage.OutputTokens - b.Usage.OutputTokens,
		CacheCreationInputTokens: a.Usage.CacheCreationInputTokens - b.Usage.CacheCreationInputTokens,
		CacheReadInputTokens:     a.Usage.CacheReadInputTokens - b.Usage.CacheReadInputTokens,
	}
}
