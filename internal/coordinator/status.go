package coordinator

import (
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/status"
)

// moveTo sets a state that follows from no fact of the agent. It may be called from any
// goroutine of the agent.
func (h *host) moveTo(name, detail string) {
	h.follow(event.StateChanged{To: name, Reason: detail})
}

// follow updates the agent's state by a fact.
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

// Status returns the status of every agent of the session, oldest first.
func (c *Coordinator) Status() []actors.Status {
	var all []actors.Status
	for _, t := range c.opts.Store.All() {
		s := actors.Status{Record: t.Record(), Unread: len(t.Unread())}
		s.Cost = s.Record.Cost(c.opts.Prices)
		s.State = c.atRest(s.Record)
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
