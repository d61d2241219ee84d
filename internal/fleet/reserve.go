package fleet

import (
	"context"
	"errors"

	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/mailbox"
)

// reserveWithin is how long a request of a process waits at a time for those in
// flight before it; then the process asks again.
const reserveWithin = workerapi.RequestTimeout / 2

// Reserve lets a request of a process out when the budgets allow it that its agent
// counts in. The same key again is the same request. It is in flight until a report
// has what it used, or its process has ended.
func (h Handlers) Reserve(id mailbox.AgentID, c workerapi.ReserveIn) (workerapi.ReserveOut, error) {
	if out, held := h.reservation(id, c); held {
		return out, nil
	}
	ctx, cancel := context.WithTimeout(h.scope, reserveWithin)
	defer cancel()
	r, err := h.parts.Agents.Reserve(ctx, id, *c.Request)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return workerapi.ReserveOut{Wait: true}, nil
	case err != nil:
		return workerapi.ReserveOut{}, err
	}
	return h.keepReservation(id, c, r)
}

func (h Handlers) reservation(id mailbox.AgentID, c workerapi.ReserveIn) (workerapi.ReserveOut, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.procs[id]
	if s == nil || s.reservations[c.Key] == nil {
		return workerapi.ReserveOut{}, false
	}
	return workerapi.ReserveOut{Output: s.reservations[c.Key].Output}, true
}

// keepReservation notes a reservation for the process that has asked for it, if it is still
// the one of its agent.
func (h Handlers) keepReservation(id mailbox.AgentID, c workerapi.ReserveIn, r *coordinator.Reservation) (workerapi.ReserveOut, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.procs[id]
	if s == nil || s.launch != c.Launch {
		r.Settle(budget.Amount{})
		return workerapi.ReserveOut{}, &OldLaunchError{Agent: id, Launch: c.Launch}
	}
	if s.reservations == nil {
		s.reservations = map[string]*coordinator.Reservation{}
	}
	if first := s.reservations[c.Key]; first != nil {
		r.Settle(budget.Amount{})
		r = first
	}
	s.reservations[c.Key] = r
	return workerapi.ReserveOut{Output: r.Output}, nil
}

// endReservations ends the flight of requests that are charged.
func (h Handlers) endReservations(s *proc, keys []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range keys {
		if r := s.reservations[key]; r != nil {
			r.Settle(budget.Amount{})
			delete(s.reservations, key)
		}
	}
}

// endReservationsLocked ends the flight of all that a process had in flight. Fleet.mu is held.
func (s *proc) endReservationsLocked() {
	for _, r := range s.reservations {
		r.Settle(budget.Amount{})
	}
	s.reservations = nil
}
