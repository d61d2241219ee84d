package swarm

import (
	"context"
	"slices"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/fleet"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/workerapi"
)

// openNodes lets agents run in processes of their own, in the process that owns the
// session, as the options or the agents that there are want it.
func (s *Session) openNodes() {
	lives := slices.ContainsFunc(s.store.All(), (*transcript.Transcript).IsReplica)
	if s.opts.Policy.Where != "" || lives {
		var notes []string
		s.nodes, notes = fleet.New(s.scope, s.nodesOptions())
		s.notes = append(s.notes, notes...)
	}
}

func (s *Session) nodesOptions() fleet.Options {
	return fleet.Options{
		Record: s.record, StateDir: s.opts.StateDir, Team: s.policy().Team, Store: s.store, Events: s.bus, Logger: s.opts.Logger,
		Where: s.opts.Policy.Where, Command: s.opts.TeammateCommand, Executor: s.opts.executor, FirstSign: s.opts.firstSign, Silence: s.opts.silence,
		Attended: s.opts.Policy.Attended, AskTimeout: s.opts.Policy.AskTimeout,
		Audit: s.audit.Note, Getenv: s.opts.Getenv, Receipt: s.sendReceipt, Prices: s.prices,
	}
}

// fleetParts are what was made after the fleet.
func (s *Session) fleetParts() fleet.Parts {
	return fleet.Parts{Agents: s.agents, Roster: s.roster, Bus: s.wire, Sessions: s.peers}
}

// Agent returns a look at one agent, by name, team/name or id.
func (s *Session) Agent(name string) (actors.Status, error) {
	if s.nodes != nil {
		return s.nodes.Agent(name)
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
	if s.nodes == nil {
		return actors.Status{}, unknown
	}
	return s.nodes.Directory().Ask(ctx, name, method, unknown)
}

// endNested ends an agent that lives in the process of another, with all that work for
// it. unknown is the error if there is no such agent.
func (s *Session) endNested(ctx context.Context, name string, cause, unknown error) ([]Ended, error) {
	if s.nodes == nil {
		return nil, unknown
	}
	return s.nodes.Directory().End(ctx, name, cause, unknown)
}
