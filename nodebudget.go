package swarm

import (
	"context"
	"errors"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/internal/workerapi"

	"github.com/actorswarm/swarm/mailbox"
)

// reserveWithin is how long a request of a node waits at a time for those in
// flight before it; then the node asks again.
const reserveWithin = askNodeWithin / 2

// reserve lets a request of a node out when the budgets allow it that its agent
// counts in. The same key again is the same request. It is in flight until a report
// has what it used, or its process has ended.
func (n *nodes) reserve(id mailbox.AgentID, c workerapi.ReserveIn) (workerapi.ReserveOut, error) {
	if out, held := n.held(id, c); held {
		return out, nil
	}
	ctx, cancel := context.WithTimeout(n.scope, reserveWithin)
	defer cancel()
	r, err := n.c.Agents.Reserve(ctx, id, *c.Ask)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return workerapi.ReserveOut{Wait: true}, nil
	case err != nil:
		return workerapi.ReserveOut{}, err
	}
	return n.hold(id, c, r)
}

func (n *nodes) held(id mailbox.AgentID, c workerapi.ReserveIn) (workerapi.ReserveOut, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.seats[id]
	if s == nil || s.holds[c.Key] == nil {
		return workerapi.ReserveOut{}, false
	}
	return workerapi.ReserveOut{Output: s.holds[c.Key].Output}, true
}

// hold notes a reservation for the process that has asked for it, if it is still
// the one of its agent.
func (n *nodes) hold(id mailbox.AgentID, c workerapi.ReserveIn, r *actors.Reservation) (workerapi.ReserveOut, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.seats[id]
	if s == nil || s.launch != c.Launch {
		r.Settle(budget.Amount{})
		return workerapi.ReserveOut{}, &OldLaunchError{Agent: id, Launch: c.Launch}
	}
	if s.holds == nil {
		s.holds = map[string]*actors.Reservation{}
	}
	if first := s.holds[c.Key]; first != nil {
		r.Settle(budget.Amount{})
		r = first
	}
	s.holds[c.Key] = r
	return workerapi.ReserveOut{Output: r.Output}, nil
}

// land ends the flight of requests that are charged.
func (n *nodes) land(s *seat, keys []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, key := range keys {
		if r := s.holds[key]; r != nil {
			r.Settle(budget.Amount{})
			delete(s.holds, key)
		}
	}
}

// landLocked ends the flight of all that a process had in flight. nodes.mu is held.
func (s *seat) landLocked() {
	for _, r := range s.holds {
		r.Settle(budget.Amount{})
	}
	s.holds = nil
}
