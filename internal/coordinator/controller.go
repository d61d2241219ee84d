package coordinator

import (
	"context"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/tools"
	"github.com/actorswarm/swarm/internal/status"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/tool"
)

// controller finds, reads and ends other agents for the calls of one agent.
type controller struct{ h *host }

var (
	_ tools.Stopper = controller{}
	_ tools.Reader  = controller{}
)

// Spec describes the caller.
func (c controller) Spec() agent.Spec { return c.h.t.Spec() }

// Tools returns the caller's tools.
func (c controller) Tools() []tool.Tool { return c.h.kit.tools.All() }

// Find returns the agent that a name or id means.
func (c controller) Find(name string) (agent.Spec, bool) {
	t, ok := c.h.c.Find(name)
	if !ok {
		return agent.Spec{}, false
	}
	return t.Spec(), true
}

// Unknown returns the error about a name that no agent has.
func (c controller) Unknown(name string) error { return c.h.c.registry.Unknown(name) }

// Parent returns the agent that has started another.
func (c controller) Parent(s agent.Spec) (agent.Spec, bool) {
	t, ok := c.h.c.opts.Store.Get(s.Parent)
	if !ok {
		return agent.Spec{}, false
	}
	return t.Spec(), true
}

// IsBelow reports whether an agent works for the caller, or for one that does.
func (c controller) IsBelow(id mailbox.AgentID) bool { return c.h.c.registry.IsBelow(id, c.h.t.ID()) }

// Running returns the names of the agents that run, without the lead.
func (c controller) Running() []string {
	var names []string
	for _, s := range c.h.c.Status() {
		if s.Running && s.Record.Spec.Role != agent.Lead {
			names = append(names, agent.DisplayName(s.Record.Spec))
		}
	}
	return names
}

// Stop ends an agent. It returns the agents that were at work for it.
func (c controller) Stop(ctx context.Context, id mailbox.AgentID) ([]actors.Orphan, error) {
	orphans := status.Orphans(c.h.c.Status(), id)
	return orphans, c.h.c.Stop(ctx, id, turn.StoppedBy(agent.DisplayName(c.h.t.Spec())))
}

// Result returns the record of an agent, and whether the agent is at work.
func (c controller) Result(id mailbox.AgentID) (agent.Record, bool) {
	t, ok := c.h.c.opts.Store.Get(id)
	if !ok {
		return agent.Record{}, false
	}
	return t.Record(), c.h.c.isWorking(t)
}

// AwaitRest returns when an agent has nothing to do, when the time is over, or when
// ctx ends.
func (c controller) AwaitRest(ctx context.Context, id mailbox.AgentID, within time.Duration) {
	t, ok := c.h.c.opts.Store.Get(id)
	if !ok || !c.h.c.isWorking(t) {
		return
	}
	wait, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	// An error means that the time is over or that ctx has ended: both are allowed.
	_ = c.h.waitForChild(ctx, func() error { return c.h.c.awaitRest(wait, t) })
}

// awaitRest returns when an agent has nothing to do, or when ctx ends.
func (c *Coordinator) awaitRest(ctx context.Context, t *transcript.Transcript) error {
	for {
		changed := c.whenChanged()
		if !c.isWorking(t) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// isWorking reports whether an agent has something to do or waits for one that works
// for it.
func (c *Coordinator) isWorking(t *transcript.Transcript) bool {
	h := c.hosts.get(t.ID())
	return t.HasWork() || h != nil && (h.busy() || state.IsResting(t.Record()))
}
