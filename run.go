package swarm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/model"
)

// Result is what a run of the lead came to.
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

// ErrInterrupted is the cause with which Run returns when its context ends: the
// lead's turn was stopped, everything is on disk.
var ErrInterrupted = turn.ErrInterrupted

// Run gives the lead a prompt and returns when the whole swarm has come to
// rest: no turn runs, no message is unread. When ctx ends, the lead's turn is
// stopped and Run returns ErrInterrupted.
func (s *Session) Run(ctx context.Context, prompt string) (Result, error) {
	if strings.TrimSpace(prompt) == "" {
		return Result{}, errEmptyPrompt
	}
	lead, err := s.getLead()
	if err != nil {
		return Result{}, err
	}
	if err := s.lead.Reopen(lead); err != nil {
		return Result{}, err
	}
	before := lead.Life()
	if err := s.notePrompt(prompt); err != nil {
		return Result{}, err
	}
	if err := lead.Prompt("user", prompt); err != nil {
		return Result{}, err
	}
	return s.follow(ctx, lead, before)
}

// Resume goes on with everything that a crash or a shutdown cut, and returns
// when the swarm has come to rest.
func (s *Session) Resume(ctx context.Context) (Result, error) {
	lead, err := s.getLead()
	if err != nil {
		return Result{}, err
	}
	return s.follow(ctx, lead, lead.Life())
}

// follow brings the agents to life and waits until they rest.
func (s *Session) follow(ctx context.Context, lead *transcript.Transcript, before agent.Record) (Result, error) {
	begun := time.Now()
	if err := s.Wake(); err != nil {
		return Result{}, err
	}
	s.agents.Wake(lead.ID())
	err := s.Quiet(ctx)
	if err != nil && s.scope.Err() == nil {
		err = s.interrupt()
	}
	s.peers.Flush(ctx)
	return s.result(lead, before, time.Since(begun)), err
}

// Wake brings the session's agents to life: what was cut goes on. Run and
// Resume do so by themselves.
func (s *Session) Wake() error {
	s.waking.Do(func() {
		// A server of others may not be there; then nothing begins. Our own comes up
		// beside the first request.
		if s.opts.NATS.URL != "" {
			_, s.woken = s.wire.Conn(s.scope)
		}
		if s.woken == nil {
			s.woken = s.node.Wake()
		}
	})
	return s.woken
}

// Quiet returns when the swarm has come to rest: no turn runs, no message is
// unread or on its way.
func (s *Session) Quiet(ctx context.Context) error { return s.node.Quiet(ctx) }

// interrupt stops the lead's turn and waits until it has stopped.
func (s *Session) interrupt() error {
	s.agents.Interrupt(agent.LeadID)
	ctx, cancel := context.WithTimeout(s.scope, closeWithin)
	defer cancel()
	if err := s.agents.Rest(ctx, agent.LeadID); err != nil {
		return fmt.Errorf("the lead's turn does not stop: %w", err)
	}
	return ErrInterrupted
}

// getLead returns the lead. A budget that cannot be kept is the caller's mistake.
func (s *Session) getLead() (*transcript.Transcript, error) {
	t, err := s.lead.Get()
	return t, misuse(err)
}

func misuse(err error) error {
	if errors.As(err, new(*budget.UnpricedError)) {
		return &OptionError{Err: err}
	}
	return err
}

func (s *Session) result(lead *transcript.Transcript, before agent.Record, took time.Duration) Result {
	now := lead.Life()
	r := Result{
		Session: s.Info().ID, Text: now.Result, Outcome: now.Outcome, Reason: now.Reason,
		Steps: now.Steps - before.Steps, Took: took, Usage: minus(now, before),
	}
	all := s.agents.Status()
	r.Tree, r.Cost = byModel(all, s.prices)
	r.Agents = len(all) - 1 // the user is none
	return r
}
