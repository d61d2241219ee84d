package swarm

import (
	"context"
	"slices"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/fleet"
	"github.com/actorswarm/swarm/internal/settings"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
)

// ShutdownResult is what came of a shutdown; Ended what became of one agent.
type (
	ShutdownResult = actors.ShutdownResult
	Ended          = actors.Ended
)

// Shutdown asks an agent, by name or id, to end. The agent may finish its work within the
// grace period, or object once. After that it is ended for good, together with all agents
// that work for it: nobody can write to it, its name is free, its tasks are offered again,
// and its commands, directory and claims are released. Without a grace period it is ended
// at once. Shutdown returns when the agent has ended, or has objected and continues. It may
// be called again, also for an agent that has ended.
func (s *Session) Shutdown(ctx context.Context, name string, grace time.Duration) (ShutdownResult, error) {
	return s.control.ShutDown(ctx, name, grace)
}

// Down is Shutdown for several agents at once. An agent that objects is asked a second
// time, which it cannot refuse, within the rest of the grace period. Without names Down
// ends every agent but the lead. It returns the agents that have ended.
func (s *Session) Down(ctx context.Context, names []string, grace time.Duration) ([]ShutdownResult, error) {
	return s.control.Down(ctx, names, grace)
}

// StopTree is Stop for an agent and all that work for it, whatever their links. It returns
// the result for each.
func (s *Session) StopTree(ctx context.Context, name string) ([]Ended, error) {
	return s.control.EndTree(ctx, name, turn.StoppedBy("the user"))
}

// KillTree is Kill for an agent and all that work for it.
func (s *Session) KillTree(ctx context.Context, name string) ([]Ended, error) {
	return s.control.EndTree(ctx, name, turn.ErrKilled)
}

// Compact replaces the older part of the conversation of an agent, by name or id, with a
// summary that its model makes. It returns when that is recorded: an agent at work is
// compacted at its next step. The record keeps the whole conversation.
func (s *Session) Compact(ctx context.Context, name string) error {
	return s.control.Compact(ctx, name)
}

// openFleet lets agents run in processes of their own, in the process that owns the
// session, if the options or the agents on record ask for that.
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
		Audit: s.audit.Note, Held: func() settings.Held { return s.parts.Rules.Settings().Held }, Getenv: s.opts.Getenv, Receipt: s.node.SendReceipt, Prices: s.parts.Prices,
	}
}

// fleetParts are the parts that are made after the fleet.
func (s *Session) fleetParts() fleet.Parts {
	return fleet.Parts{Agents: s.agents, Roster: s.roster, Bus: s.bus, Sessions: s.peers}
}

// Agent returns the status of one agent, by name, team/name or id.
func (s *Session) Agent(name string) (actors.Status, error) { return s.control.Find(name) }

// Agents returns the status of every agent of the session, oldest first.
func (s *Session) Agents() []actors.Status { return s.control.All() }

// Stop ends an agent, by name or id. It returns when nothing of the agent runs. A message
// wakes it again, with its whole conversation.
func (s *Session) Stop(ctx context.Context, name string) error {
	return s.control.End(ctx, name, turn.StoppedBy("the user"))
}

// Kill ends an agent, by name or id, for good: no message wakes it again. It
// returns when nothing of it runs.
func (s *Session) Kill(ctx context.Context, name string) error {
	return s.control.End(ctx, name, turn.ErrKilled)
}

// Background moves a running foreground agent, by name or id, to the background: its caller
// continues, and receives its result as a message.
func (s *Session) Background(name string) error { return s.control.Background(name) }
