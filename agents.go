package swarm

import (
	"context"
	"slices"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/fleet"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
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
	return s.control.ShutDown(ctx, name, grace)
}

// Down is Shutdown for several agents at once that does not leave it at an
// objection: it is asked a second time, which it cannot refuse, with what is left
// of the grace time. Without names it is everybody but the lead. It returns those
// that are gone.
func (s *Session) Down(ctx context.Context, names []string, grace time.Duration) ([]ShutdownResult, error) {
	return s.control.Down(ctx, names, grace)
}

// StopTree is Stop for an agent and all that work for it, whatever their links
// say. It returns what became of each.
func (s *Session) StopTree(ctx context.Context, name string) ([]Ended, error) {
	return s.control.EndTree(ctx, name, turn.StoppedBy("the user"))
}

// KillTree is Kill for an agent and all that work for it.
func (s *Session) KillTree(ctx context.Context, name string) ([]Ended, error) {
	return s.control.EndTree(ctx, name, turn.ErrKilled)
}

// Compact replaces the older part of an agent's conversation, by name or id, by
// a summary that its model makes. It returns when that is recorded: an agent at
// work is compacted at its next step. The record keeps the whole.
func (s *Session) Compact(ctx context.Context, name string) error {
	return s.control.Compact(ctx, name)
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
		Record: s.record, StateDir: s.opts.StateDir, Team: s.opts.config().PolicyOf(s.Info().ID, s.parts.Rules).Team, Store: s.store, Events: s.events, Logger: s.opts.Logger,
		Where: s.opts.Policy.Where, Command: s.opts.TeammateCommand, Executor: s.opts.executor, FirstReport: s.opts.firstSign, Silence: s.opts.silence,
		Attended: s.opts.Policy.Attended, AskTimeout: s.opts.Policy.AskTimeout,
		Audit: s.audit.Note, Getenv: s.opts.Getenv, Receipt: s.node.SendReceipt, Prices: s.parts.Prices,
	}
}

// fleetParts are what was made after the fleet.
func (s *Session) fleetParts() fleet.Parts {
	return fleet.Parts{Agents: s.agents, Roster: s.roster, Bus: s.bus, Sessions: s.peers}
}

// Agent returns a look at one agent, by name, team/name or id.
func (s *Session) Agent(name string) (actors.Status, error) { return s.control.Find(name) }

// Agents returns a look at every agent of the session, oldest first.
func (s *Session) Agents() []actors.Status { return s.control.All() }

// Stop ends an agent, by name or id. It returns when nothing of it runs. A
// message wakes it again, with all that it knew.
func (s *Session) Stop(ctx context.Context, name string) error {
	return s.control.End(ctx, name, turn.StoppedBy("the user"))
}

// Kill ends an agent, by name or id, for good: no message wakes it again. It
// returns when nothing of it runs.
func (s *Session) Kill(ctx context.Context, name string) error {
	return s.control.End(ctx, name, turn.ErrKilled)
}

// Background lets a running foreground agent, by name or id, go on in the
// background: who started it goes on, and is told of its end by message.
func (s *Session) Background(name string) error { return s.control.Background(name) }
