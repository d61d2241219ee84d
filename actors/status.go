package actors

import (
	"slices"
	"time"

	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
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

// Status is a look at one agent.
type Status struct {
	Life    agent.Record
	State   state.State
	Running bool
	Unread  int
	Cost    budget.Cost // of the agent's own requests
	// Subtree is what the agent and all below it have used.
	Subtree Use
}

// Use is what several agents have used together.
type Use struct {
	Usage model.Usage
	Cost  budget.Cost
}

// Status returns a look at every agent of the session, oldest first.
func (c *Coordinator) Status() []Status {
	var all []Status
	for _, t := range c.opts.Store.All() {
		s := Status{Life: t.Life(), Unread: len(t.Unread())}
		s.Cost = s.Life.Cost(c.opts.Prices)
		s.Subtree = Use{s.Life.Usage, s.Cost}
		s.State = c.atRest(s.Life)
		if h := c.hosts.get(t.ID()); h != nil {
			if s.Running = h.running.Load(); s.Running {
				s.State = h.now()
			}
		}
		c.completeRemote(&s)
		all = append(all, s)
	}
	seeChildren(all)
	return all
}

// atRest is the state of an agent that does not run.
func (c *Coordinator) atRest(l agent.Record) state.State {
	s := state.Resting(l)
	if s.Name == state.Paused && c.hosts.get(l.Spec.ID) != nil {
		s.Name, s.Detail = state.Resolving, ""
	}
	return s
}

// Complete completes what is known of agents of which some were looked at in
// other processes.
func Complete(all []Status) []Status {
	for i := range all {
		all[i].Subtree = Use{all[i].Life.Usage, all[i].Cost}
	}
	seeChildren(all)
	return all
}

// seeChildren completes what is known of parents by what is known of their
// children, from the deepest up.
func seeChildren(all []Status) {
	at := map[mailbox.AgentID]int{}
	order := make([]int, len(all))
	for i, s := range all {
		at[s.Life.Spec.ID], order[i] = i, i
	}
	slices.SortStableFunc(order, func(a, b int) int { return all[b].Life.Spec.Depth - all[a].Life.Spec.Depth })
	for _, i := range order {
		child := all[i]
		parent, ok := at[child.Life.Spec.Parent]
		if !ok {
			continue
		}
		sum := &all[parent].Subtree
		sum.Usage, sum.Cost = sum.Usage.Add(child.Subtree.Usage), sum.Cost.Add(child.Subtree.Cost)
		if !child.Life.Closed {
			all[parent].State.ObserveChild(child.Life, child.State)
		}
	}
}
