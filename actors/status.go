package actors

import (
	"time"

	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/actors/status"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
)

// moveTo says where the agent is now when none of its facts does. It may be
// called from any goroutine of the agent.
func (h *host) moveTo(name, detail string) {
	h.follow(event.StateChanged{To: name, Reason: detail})
}

// follow moves the agent's state on.
func (h *host) follow(f event.Fact) {
	h.stating.Lock()
	defer h.stating.Unlock()
	was := h.state
	h.state = was.Next(f, h.lasts, time.Now())
	if h.state.Name != was.Name {
		h.c.publish(h.t, event.StateChanged{From: was.Name, To: h.state.Name, Reason: h.state.Detail})
	}
}

func (h *host) now() state.State {
	h.stating.Lock()
	defer h.stating.Unlock()
	return h.state
}

type (
	// Status is a look at one agent.
	Status = status.Status
	// Use is what several agents have used together.
	Use = status.Use
	// Orphan is an agent that is at work for one that is to end.
	Orphan = status.Orphan
)

// Status returns a look at every agent of the session, oldest first.
func (c *Coordinator) Status() []Status {
	var all []Status
	for _, t := range c.opts.Store.All() {
		s := Status{Life: t.Life(), Unread: len(t.Unread())}
		s.Cost = s.Life.Cost(c.opts.Prices)
		s.State = c.atRest(s.Life)
		if h := c.hosts.get(t.ID()); h != nil {
			if s.Running = h.running.Load(); s.Running {
				s.State = h.now()
			}
		}
		c.completeRemote(&s)
		all = append(all, s)
	}
	return status.Complete(all)
}

// atRest is the state of an agent that does not run.
func (c *Coordinator) atRest(l agent.Record) state.State {
	s := state.Resting(l)
	if s.Name == state.Paused && c.hosts.get(l.Spec.ID) != nil {
		s.Name, s.Detail = state.Resolving, ""
	}
	return s
}
