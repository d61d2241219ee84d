package kernel

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// errNoBehavior is the panic of an actor whose producer returned nil.
var errNoBehavior = errors.New("the producer returned no behavior")

// phase counts what has been done of a stop. Each step is taken once, also when
// the one before it panicked.
type phase uint8

const (
	alive    phase = iota
	stopping       // Stopping was received
	stopped        // the queue was taken and Stopped was received
	unnamed        // the name is free
	reported       // Parked was called
	gone           // Done is closed
)

// cell is one actor: its mailbox, its behavior, its place in the System. There
// are many and most are idle, so every field counts: 112 bytes is a size class.
type cell struct {
	mu        sync.Mutex
	running   bool         // a worker has it; guarded by mu
	closed    bool         // takes no more messages; guarded by mu
	suspended bool         // between a panic and the restart; written by the worker under mu
	phase     phase        // only the worker
	urgent    atomic.Int32 // length of q.sys and q.ctl together

	q    *queues              // nil while idle; guarded by mu, stable while running
	inv  actor.MessageInvoker // protoactor's half of the actor
	rare *rare                // nil for most; guarded by mu

	sys      *System
	behavior Behavior        // only the worker
	produce  func() Behavior // only the worker
	policy   *RestartPolicy
	parked   func(name string, reason error) // only the worker

	before, after *cell // guarded by sys.mu
}

// rare is what only actors need that failed, were asked, or are waited for.
type rare struct {
	done  chan struct{} // closed when the actor is gone; guarded by cell.mu
	life  chan struct{} // closed when the behavior ends; guarded by cell.mu
	ended bool          // the actor is gone; guarded by cell.mu

	panics   []time.Time // within the window; only the worker
	restarts int         // only the worker
	cause    *Panic      // the last one; only the worker
	timer    *time.Timer // of the back-off; only the worker
	reason   *ParkedError
}

func (x *cell) name() string {
	return x.inv.(actor.Context).Self().Id[len(x.sys.prefix):]
}

// extra is rare, made on demand.
func (x *cell) extra() *rare {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.extraLocked()
}

func (x *cell) extraLocked() *rare {
	if x.rare == nil {
		x.rare = &rare{}
	}
	return x.rare
}

// receive hands m to the behavior.
func (x *cell) receive(m any) {
	if a, ok := m.(*asked); ok {
		m = a.msg
	}
	x.behavior.Receive((*Context)(x), m)
}

// system acts on one message of the system class. Only the worker calls it.
func (x *cell) system(m any) {
	if p, ok := m.(*Panic); ok {
		x.report(p)
		return
	}
	if x.phase != alive {
		return
	}
	switch m.(type) {
	case *actor.SuspendMailbox:
		x.suspend(true)
	case *actor.ResumeMailbox:
		x.suspend(false)
	case *actor.Started:
		x.inv.InvokeSystemMessage(m)
		x.start(Started{})
	case *actor.Restart:
		x.inv.InvokeSystemMessage(m)
		r := x.extra()
		r.restarts++
		x.start(Started{Restarts: r.restarts, Cause: r.cause})
	case *actor.Stop:
		x.stop()
	}
}

func (x *cell) start(m Started) {
	x.q.msg = making(m)
	b := x.produce()
	if b == nil {
		panic(errNoBehavior)
	}
	x.behavior = b
	x.q.msg = m
	b.Receive((*Context)(x), m)
}

// making stands for Started while the behavior does not exist yet.
type making Started

// stop takes the steps of a stop that have not been taken.
func (x *cell) stop() {
	for x.phase < gone {
		x.phase++
		switch x.phase {
		case stopping:
			x.deliver(Stopping{})
		case stopped:
			x.deliver(Stopped{Undelivered: x.drain()})
		case unnamed:
			x.inv.InvokeSystemMessage(protoactor().stop)
		case reported:
			x.reportParked()
		case gone:
			x.end()
		}
	}
}

// deliver hands a message of the stop to the behavior, or, if none could be
// made, keeps what it carries from vanishing unseen.
func (x *cell) deliver(m any) {
	x.q.msg = m
	if x.behavior != nil {
		x.behavior.Receive((*Context)(x), m)
		return
	}
	s, ok := m.(Stopped)
	if !ok || len(s.Undelivered) == 0 {
		return
	}
	if reason := x.extra().reason; reason != nil {
		reason.Undelivered = s.Undelivered
		return
	}
	x.sys.dropped.Add(uint64(len(s.Undelivered)))
	x.sys.log.Warn("messages dropped: the actor stopped before it had a behavior", "actor", x.name(), "messages", len(s.Undelivered))
}

func (x *cell) reportParked() {
	r := x.extra()
	if r.timer != nil {
		r.timer.Stop()
	}
	if r.reason == nil {
		return
	}
	x.q.msg = r.reason
	x.sys.log.Error("actor parked", "actor", x.name(), "panics", r.reason.Panics, "within", r.reason.Within)
	if x.parked != nil {
		x.parked(x.name(), r.reason)
	}
}

// end lets go of everything a reference to the dead actor would keep alive.
func (x *cell) end() {
	x.behavior, x.produce, x.parked = nil, nil, nil
	x.mu.Lock()
	r := x.extraLocked()
	r.ended = true
	for _, c := range []chan struct{}{r.life, r.done} {
		if c != nil {
			close(c)
		}
	}
	r.life = nil
	x.mu.Unlock()
	x.sys.remove(x)
}
