package swarm

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

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

// askAgain is how long a node waits for an owner that does not answer.
const askAgain = 200 * time.Millisecond

// Reserve implements actors.Owner. Under a limit a request waits for an owner: what
// is left of the budget only the owner knows.
func (n *Node) Reserve(ctx context.Context, k budget.Request) (int64, func(), error) {
	if !n.bounded.Load() {
		return k.Output, func() {}, nil
	}
	key := rand.Text()
	landed := func() { n.land(key) }
	for {
		out, err := askOwner(ctx, n, workerapi.UpReserve, workerapi.ReserveIn{Launch: n.o.Launch, Key: key, Ask: &k})
		switch {
		case ctx.Err() != nil:
			landed() // it may be held
			return 0, nil, context.Cause(ctx)
		case err != nil && !errors.As(err, new(*NoOwnerError)):
			return 0, nil, err
		case err == nil && !out.Wait:
			return out.Output, landed, nil
		}
		if k.Waits != nil {
			k.Waits()
			k.Waits = nil
		}
		if err == nil {
			continue // the owner has waited
		}
		pause := time.NewTimer(askAgain)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// land tells the owner with the next report that a request is charged.
func (n *Node) land(key string) {
	n.mu.Lock()
	n.landed = append(n.landed, key)
	n.mu.Unlock()
	n.stir()
}

// told forgets the requests that a report has told of.
func (n *Node) told(keys []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.landed = slices.DeleteFunc(n.landed, func(key string) bool { return slices.Contains(keys, key) })
}

// stir makes the node report now.
func (n *Node) stir() {
	select {
	case n.dirty <- struct{}{}:
	default:
	}
}
