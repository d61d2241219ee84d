package coordinator

import (
	"fmt"

	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/registry"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team/protocol"
)

// expects reports whether an agent will get a report of the end of another: one that
// works in the background for it, or for one below it that has ended.
func (c *Coordinator) expects(me *transcript.Transcript) bool { return c.owedBy(me.ID(), me) }

func (c *Coordinator) owedBy(id mailbox.AgentID, me *transcript.Transcript) bool {
	for _, kid := range c.registry.Workers(id) {
		if c.owes(kid, me) || kid.Record().Closed && c.owedBy(kid.ID(), me) {
			return true
		}
	}
	return false
}

func (c *Coordinator) owes(kid, me *transcript.Transcript) bool {
	l := kid.Record()
	if kid.OnItsWay(me) {
		return true
	}
	if l.Closed || l.Spec.Role != agent.Background || c.registry.ReportsTo(l) != me.ID() {
		return false
	}
	// A parked agent has reported that, and reports no more until it has work.
	return kid.HasWork() || l.Turns > l.Reported && c.hosts.get(kid.ID()) != nil || me.OnItsWay(kid)
}

// rests reports whether an agent whose turn has ended waits for agents that work for
// it. Their reports begin its next turn.
func (h *host) rests(l agent.Record) bool { return state.IsResting(l) && h.c.expects(h.t) }

// endsByItself reports whether an agent ends when its work is done.
func endsByItself(r agent.Role) bool {
	return r == agent.Foreground || r == agent.Background
}

// stopCause returns why an agent is to stop, from what is on record, or nil.
func (h *host) stopCause() error {
	if s := h.t.Record().Shutdown; s.Phase == protocol.ShutdownEnding {
		return turn.ShutDownBy(h.c.nameOf(s.By))
	}
	return h.orphaned()
}

// orphaned returns why an agent is to stop whose link ties it to one that has
// ended, or nil. It follows from the records, so that a crash loses no stop.
func (h *host) orphaned() error {
	l := h.t.Record()
	if l.Spec.Link != agent.StopWith || l.Spec.Role != agent.Background || l.Closed || l.Turns == l.Reported {
		return nil
	}
	up, ok := h.c.opts.Store.Get(registry.WorksFor(l))
	if !ok {
		return nil
	}
	if above := up.Record(); above.Closed && above.Outcome != agent.Completed {
		return fmt.Errorf("%w with %s, for which it worked", turn.ErrStopped, agent.DisplayName(above.Spec))
	}
	return nil
}

// wakeDependents wakes the agents that an agent's end concerns: those that wait for it, and
// those that a link ties to it.
func (c *Coordinator) wakeDependents(l agent.Record) {
	c.Wake(c.registry.ReportsTo(l))
	for _, kid := range c.registry.Workers(l.Spec.ID) {
		if !kid.Record().Closed {
			c.Wake(kid.ID())
			c.Wake(c.registry.ReportsTo(kid.Record())) // it waits for the child from now on
		}
	}
}
