package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// StopTree is Stop for an agent and all that work for it, whatever their links
// say. All are cancelled at once. It returns how each has ended, the agent itself first,
// also those that had ended before.
func (ps *protocols) StopTree(ctx context.Context, id mailbox.AgentID, cause error) ([]actors.Ended, error) {
	if _, ok := ps.c.opts.Store.Get(id); !ok {
		return nil, fmt.Errorf("there is no agent %s to stop", id)
	}
	failed, known := map[mailbox.AgentID]error{}, map[mailbox.AgentID]bool{}
	for { // an agent that was being started is found in the next round
		var fresh []*transcript.Transcript
		for _, t := range ps.c.registry.Tree(id) {
			if !known[t.ID()] {
				known[t.ID()] = true
				fresh = append(fresh, t)
			}
		}
		if len(fresh) == 0 {
			return ps.receipt(ps.c.registry.Tree(id), failed)
		}
		ps.stopAll(ctx, fresh, id, cause, failed)
	}
}

// stopAll cancels agents of the tree of top at once and waits for each. One that
// has ended stays as it ended, but for top.
func (ps *protocols) stopAll(ctx context.Context, all []*transcript.Transcript, top mailbox.AgentID, cause error, failed map[mailbox.AgentID]error) {
	for _, t := range all {
		if h := ps.c.hosts.get(t.ID()); h != nil {
			h.ref.Tell(cancel{cause: cause, final: true})
		}
	}
	for _, t := range all {
		if t.ID() != top && t.Record().Closed && ps.c.hosts.get(t.ID()) == nil {
			continue
		}
		if err := ps.c.Stop(ctx, t.ID(), cause); err != nil {
			failed[t.ID()] = err
		}
	}
}

// receipt returns how the agents of a tree have ended, those in other processes
// included.
func (ps *protocols) receipt(tree []*transcript.Transcript, failed map[mailbox.AgentID]error) ([]actors.Ended, error) {
	var all []actors.Ended
	var errs []error
	for _, t := range tree {
		e := endOf(t.Record())
		if err := failed[t.ID()]; err != nil {
			e.Error = err.Error()
			errs = append(errs, err)
		}
		all = append(all, e)
		if _, remote := ps.c.replica(t.ID()); remote {
			for _, s := range ps.c.opts.Remote.Nested(t.ID()) {
				all = append(all, endOf(s.Record))
			}
		}
	}
	return all, errors.Join(errs...)
}

func endOf(l agent.Record) actors.Ended {
	return actors.Ended{ID: l.Spec.ID, Name: agent.DisplayName(l.Spec), State: cmp.Or(string(l.Outcome), state.Idle)}
}
