package kernel

import (
	"runtime"

	"github.com/asynkron/protoactor-go/actor"
)

// class is the precedence of a message, highest first.
type class uint8

const (
	system class = iota
	control
	ordinary
)

// turnLength is how many messages an actor receives before it offers the
// processor to others.
const turnLength = 256

var _ actor.Mailbox = (*cell)(nil)

// classOf returns the class of a message, or of the one in the envelope of an ask.
func classOf(m any) class {
	if a, ok := m.(*asked); ok {
		m = a.msg
	}
	if _, ok := m.(Control); ok {
		return control
	}
	return ordinary
}

// post queues m and wakes a worker if there is something it could do. It reports
// false, and does nothing, when the actor takes no more messages.
func (x *cell) post(m any, c class) bool {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return false
	}
	x.push(m, c)
	// No inv yet: the spawn is still on its way and will post Started itself.
	wake := !x.running && x.inv != nil && (c == system || !x.suspended)
	if wake {
		x.running = true
	}
	x.mu.Unlock()
	if wake {
		x.sys.workers.run(x)
	}
	return true
}

// push is called with mu held.
func (x *cell) push(m any, c class) {
	q := x.q
	if q == nil {
		q = x.sys.queues.Get().(*queues)
		x.q = q
	}
	switch c {
	case system:
		q.sys.push(m)
		x.urgent.Add(1)
	case control:
		q.ctl.push(m)
		x.urgent.Add(1)
	default:
		q.user.push(m)
	}
}

// pushReport queues a report for the worker itself, also when the actor is
// closed.
func (x *cell) pushReport(p *Panic) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.push(p, system)
}

// take takes the next message. When there is none that may be received now, it
// gives the actor back and reports false.
func (x *cell) take() (m any, c class, ok bool) {
	q := x.q
	if x.urgent.Load() == 0 && !x.suspended && q.cur.len() > 0 {
		return q.cur.pop(), ordinary, true
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case q.sys.len() > 0:
		x.urgent.Add(-1)
		return q.sys.pop(), system, true
	case x.suspended:
	case q.ctl.len() > 0:
		x.urgent.Add(-1)
		return q.ctl.pop(), control, true
	case q.cur.len() > 0:
		return q.cur.pop(), ordinary, true
	case q.user.len() > 0:
		q.cur, q.user = q.user, q.cur
		return q.cur.pop(), ordinary, true
	}
	x.rest()
	return nil, 0, false
}

// rest is called with mu held, by the worker that leaves.
func (x *cell) rest() {
	x.running = false
	q := x.q
	q.msg = nil
	if q.ctl.len()+q.cur.len()+q.user.len() > 0 {
		return // suspended with messages waiting
	}
	x.q = nil
	if q.small() {
		x.sys.queues.Put(q)
	}
}

// drain closes the mailbox and takes what was waiting in it.
func (x *cell) drain() []any {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	q := x.q
	n := q.ctl.len()
	x.urgent.Add(int32(-n))
	n += q.cur.len() + q.user.len()
	if n == 0 {
		return nil
	}
	out := make([]any, 0, n)
	for _, f := range []*fifo{&q.ctl, &q.cur, &q.user} {
		for f.len() > 0 {
			m := f.pop()
			if a, ok := m.(*asked); ok {
				m = a.msg
			}
			out = append(out, m)
		}
	}
	return out
}

func (x *cell) suspend(on bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.suspended = on
}

// run is the work of a worker on x: until nothing is left to receive.
func (x *cell) run() {
	for !x.turn() {
		// A panic ended the turn; what is queued behind it is still due.
	}
}

func (x *cell) turn() (idle bool) {
	over := false
	defer func() {
		if !over {
			x.recovered(recover())
		}
	}()
	if x.phase != alive {
		x.stop()
	}
	for n := 1; ; n++ {
		m, c, ok := x.take()
		if !ok {
			over = true
			return true
		}
		x.q.msg = m
		if c == system {
			x.system(m)
		} else {
			x.inv.InvokeUserMessage(x)
		}
		if n%turnLength == 0 {
			runtime.Gosched()
		}
	}
}

// PostUserMessage is protoactor's way in. Ours is Ref.Tell.
func (x *cell) PostUserMessage(m any) { x.post(m, classOf(m)) }

// PostSystemMessage is how protoactor steers the life of the actor.
func (x *cell) PostSystemMessage(m any) { x.post(m, system) }

// RegisterHandlers ends the time in which messages are only queued.
func (x *cell) RegisterHandlers(inv actor.MessageInvoker, _ actor.Dispatcher) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.inv = inv
}

// Start does nothing: Started has been posted already.
func (x *cell) Start() {}

// UserMessageCount is the number of messages waiting to be received, less what
// the worker has already taken as a batch.
func (x *cell) UserMessageCount() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.q == nil {
		return 0
	}
	return x.q.ctl.len() + x.q.user.len()
}
