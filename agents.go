package swarm

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/fleet"
	"github.com/actorswarm/swarm/internal/node"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/mailbox"
)

// ShutdownResult is what came of a shutdown; Ended what became of one agent.
type (
	ShutdownResult = actors.ShutdownResult
	Ended          = actors.Ended
)

// Shutdown asks an agent, by name or id, to end: it may bring its work to an end
// within the grace time, or object once. Then it is ended with all that work for
// it, for good: nobody can write to it, its name is free, its tasks are offered
// again, and its commands, directory and claims are given back. Without grace it
// is ended at once. Shutdown returns when it is gone, or has objected and goes
// on. It may be called again, also for an agent that is gone.
func (s *Session) Shutdown(ctx context.Context, name string, grace time.Duration) (ShutdownResult, error) {
	if err := s.Begin(); err != nil {
		return ShutdownResult{Name: name}, err
	}
	user, ok := s.store.Get(agent.UserID)
	if !ok {
		return ShutdownResult{Name: name}, archive.ErrNoOutbox
	}
	return s.roster.ShutDown(ctx, user.ID(), name, actors.ShutdownOptions{Grace: grace, Reason: "the user asks for it"})
}

// Down is Shutdown for several agents at once that does not leave it at an
// objection: it is asked a second time, which it cannot refuse, with what is left
// of the grace time. Without names it is everybody but the lead. It returns those
// that are gone.
func (s *Session) Down(ctx context.Context, names []string, grace time.Duration) ([]ShutdownResult, error) {
	if len(names) == 0 {
		names = s.memberNames()
	}
	until := time.Now().Add(grace)
	all, errs := make([]ShutdownResult, len(names)), make([]error, len(names))
	var group sync.WaitGroup
	for i, name := range names {
		group.Go(func() {
			all[i], errs[i] = s.Shutdown(ctx, name, grace)
			if said := all[i].Objection; errs[i] == nil && !all[i].Gone {
				all[i], errs[i] = s.Shutdown(ctx, name, time.Until(until))
				all[i].Objection = said
			}
		})
	}
	group.Wait()
	var gone []ShutdownResult
	for i, d := range all {
		if errs[i] == nil {
			gone = append(gone, d)
		}
	}
	return gone, errors.Join(errs...)
}

// members returns the ids of all that a user can shut down and that work for
// nobody who is shut down too: the teammates, also those that a message would
// wake, and what works for the lead.
func (s *Session) memberNames() []string {
	var ids []string
	for _, a := range s.agents.Status() {
		switch l := a.Record; {
		case l.Shutdown.Leaving(), l.Spec.Role == agent.Lead:
		case l.Spec.Role == agent.Teammate, l.Spec.Parent == agent.LeadID && !l.Closed:
			ids = append(ids, string(l.Spec.ID))
		}
	}
	return ids
}

// StopTree is Stop for an agent and all that work for it, whatever their links
// say. It returns what became of each.
func (s *Session) StopTree(ctx context.Context, name string) ([]Ended, error) {
	return s.endTree(ctx, name, turn.StoppedBy("the user"))
}

// KillTree is Kill for an agent and all that work for it.
func (s *Session) KillTree(ctx context.Context, name string) ([]Ended, error) {
	return s.endTree(ctx, name, turn.ErrKilled)
}

func (s *Session) endTree(ctx context.Context, name string, cause error) ([]Ended, error) {
	t, err := s.roster.Find(name)
	if err != nil {
		return s.endNested(ctx, name, cause, err)
	}
	return s.agents.StopTree(ctx, t.ID(), cause)
}

// gone gives back the tasks that an agent held which was shut down. A program
// outside loses its key besides.
func (s *Session) gone(ctx context.Context, id mailbox.AgentID) error {
	err := s.boards.Release(ctx, id)
	if t, ok := s.store.Get(id); ok && t.Spec().Role == agent.Outside {
		err = errors.Join(err, s.users.DropKey(string(id)))
	}
	return err
}

// Compact replaces the older part of an agent's conversation, by name or id, by
// a summary that its model makes. It returns when that is recorded: an agent at
// work is compacted at its next step. The record keeps the whole.
func (s *Session) Compact(ctx context.Context, name string) error {
	ctx, cancel := node.JoinContexts(ctx, s.scope)
	defer cancel()
	t, err := s.roster.Find(name)
	if err != nil {
		_, err = s.askNested(ctx, name, workerapi.DoCompactNested, err)
		return err
	}
	return s.agents.Compact(ctx, t.ID())
}

// openFleet lets agents run in processes of their own, in the process that owns the
// session, as the options or the agents that there are want it.
func (s *Session) openFleet() {
	lives := slices.ContainsFunc(s.store.All(), (*transcript.Transcript).IsReplica)
	if s.opts.Policy.Where != "" || lives {
		var notes []string
		s.fleet, notes = fleet.New(s.scope, s.fleetOptions())
		s.notes = append(s.notes, notes...)
	}
}

func (s *Session) fleetOptions() fleet.Options {
	return fleet.Options{
		Record: s.record, StateDir: s.opts.StateDir, Team: s.policy().Team, Store: s.store, Events: s.events, Logger: s.opts.Logger,
		Where: s.opts.Policy.Where, Command: s.opts.TeammateCommand, Executor: s.opts.executor, FirstReport: s.opts.firstSign, Silence: s.opts.silence,
		Attended: s.opts.Policy.Attended, AskTimeout: s.opts.Policy.AskTimeout,
		Audit: s.audit.Note, Getenv: s.opts.Getenv, Receipt: s.sendReceipt, Prices: s.parts.Prices,
	}
}

// fleetParts are what was made after the fleet.
func (s *Session) fleetParts() fleet.Parts {
	return fleet.Parts{Agents: s.agents, Roster: s.roster, Bus: s.bus, Sessions: s.peers}
}

// Agent returns a look at one agent, by name, team/name or id.
func (s *Session) Agent(name string) (actors.Status, error) {
	if s.fleet != nil {
		return s.fleet.Agent(name)
	}
	t, err := s.roster.Find(name)
	if err == nil {
		return archive.StatusOf(s.Agents(), t.ID())
	}
	a, _, err := s.tree().Find(name, err)
	return a, err
}

// askNested puts a request about an agent to the process of another one that it lives
// in. unknown is the error if there is no such agent.
func (s *Session) askNested(ctx context.Context, name string, method rpc.Method[workerapi.NameIn, rpc.None], unknown error) (actors.Status, error) {
	if s.fleet == nil {
		return actors.Status{}, unknown
	}
	return s.fleet.Directory().Call(ctx, name, method, unknown)
}

// endNested ends an agent that lives in the process of another, with all that work for
// it. unknown is the error if there is no such agent.
func (s *Session) endNested(ctx context.Context, name string, cause, unknown error) ([]Ended, error) {
	if s.fleet == nil {
		return nil, unknown
	}
	return s.fleet.Directory().End(ctx, name, cause, unknown)
}
