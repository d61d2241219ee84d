package transcript

import (
	"sync"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/mailbox"
)

// outgoing is an accepted message whose record may still be on its way to disk.
type outgoing struct {
	envelope mailbox.Envelope
	ticket   journal.Ticket
}

// queue is a first-in, first-out queue. Its length is bounded by the limit of
// unacknowledged messages per pair.
type queue struct {
	mu     sync.Mutex
	cond   sync.Cond
	items  []outgoing // guarded by mu
	closed bool       // guarded by mu
}

func newQueue() *queue {
	q := &queue{}
	q.cond.L = &q.mu
	return q
}

func (q *queue) put(o outgoing) {
	q.mu.Lock()
	q.items = append(q.items, o)
	q.mu.Unlock()
	q.cond.Signal()
}

// take waits for an item; ok is false once the queue is closed.
func (q *queue) take() (o outgoing, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) == 0 && !q.closed {
		q.cond.Wait()
	}
	if q.closed {
		return outgoing{}, false // the rest is in the outbox and is sent after the next start
	}
	o = q.items[0]
	q.items[0] = outgoing{}
	if q.items = q.items[1:]; len(q.items) == 0 {
		q.items = nil
	}
	return o, true
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.cond.Broadcast()
}
