package fleet

import (
	"context"
	"errors"

	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/mailbox"
)

// reserveTimeout limits how long the handler of a reservation waits for other requests
// in flight. After that the process requests it again.
const reserveTimeout = workerapi.RequestTimeout / 2

// reserve reserves what a model request of a process may cost in the accounts of its
// agent. The same key means the same request. The reservation ends when a report contains
// that it is charged, or with the process.
func (h handlers) reserve(id mailbox.AgentID, c workerapi.ReserveIn) (workerapi.ReserveOut, error) {
	if out, held := h.reservation(id, c); held {
		return out, nil
	}
	ctx, cancel := context.WithTimeout(h.scope, reserveTimeout)
	defer cancel()
	r, err := h.parts.Agents.Reserve(ctx, id, *c.Request)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return workerapi.ReserveOut{Wait: true}, nil
	case err != nil:
		return workerapi.ReserveOut{}, err
	}
	return h.addReservation(id, c, r)
}

func (h handlers) reservation(id mailbox.AgentID, c workerapi.ReserveIn) (workerapi.ReserveOut, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.procs[id]
	if p == nil || p.reservations[c.Key] == nil {
		return workerapi.ReserveOut{}, false
	}
	return workerapi.ReserveOut{Output: p.reservations[c.Key].Output}, true
}

// addReservation records a reservation with the process that has requested it, if that
// is still the process of its agent.
func (h handlers) addReservation(id mailbox.AgentID, c workerapi.ReserveIn, r *coordinator.Reservation) (workerapi.ReserveOut, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.procs[id]
	if p == nil || p.launch != c.Launch {
		r.Commit(budget.Amount{})
		return workerapi.ReserveOut{}, &oldLaunchError{Agent: id, Launch: c.Launch}
	}
	if p.reservations == nil {
		p.reservations = map[string]*coordinator.Reservation{}
	}
	if first := p.reservations[c.Key]; first != nil {
		r.Commit(budget.Amount{})
		r = first
	}
	p.reservations[c.Key] = r
	return workerapi.ReserveOut{Output: r.Output}, nil
}

// endReservations ends reservations that are charged.
func (h handlers) endReservations(p *proc, keys []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range keys {
		if r := p.reservations[key]; r != nil {
			r.Commit(budget.Amount{})
			delete(p.reservations, key)
		}
	}
}

// endReservationsLocked ends all reservations of a process. Fleet.mu is held.
func (p *proc) endReservationsLocked() {
	for _, r := range p.reservations {
		r.Commit(budget.Amount{})
	}
	p.reservations = nil
}
