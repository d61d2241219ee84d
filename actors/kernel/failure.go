package kernel

import (
	"fmt"
	"runtime"
	"time"
)

// hook stands for the message while a function of the embedder runs, whose panic is
// reported to no behavior.
type hook struct{}

// recovered takes over when the worker's turn was cut short: by a panic, or by
// an exit when value is nil.
func (x *cell) recovered(value any) {
	exited := value == nil
	if exited {
		value = ErrExited
	}
	p := &Panic{Actor: x.name(), Value: value, Message: x.culprit(), pcs: make([]uintptr, 64)}
	p.pcs = p.pcs[:runtime.Callers(3, p.pcs)]
	x.sys.log.Error("actor panicked", "actor", p.Actor, "message", fmt.Sprintf("%T", p.Message), "cause", value)
	x.dispose(p)
	if exited {
		x.sys.workers.run(x) // this goroutine is ending
	}
}

// culprit is the message being received, as the behavior saw it.
func (x *cell) culprit() any {
	switch m := x.q.msg.(type) {
	case *asked:
		return m.msg
	case making:
		return Started(m)
	default:
		return m
	}
}

// dispose decides what follows from a panic. It calls no function of the embedder: such a
// call may panic as well, and here no one recovers.
func (x *cell) dispose(p *Panic) {
	switch p.Message.(type) {
	case hook:
		return // logged, and that is all
	case Restarting:
		x.pushReport(p)
		return
	}
	if x.phase != alive { // or the panic would revive a stopping actor
		x.pushReport(p)
		return
	}
	if a, ok := x.q.msg.(*asked); ok {
		x.mu.Lock()
		a.failed = p
		x.mu.Unlock()
	}
	x.pushReport(p)
	x.inv.EscalateFailure(p, x)
	x.endLife()
}

// failed records a panic and returns whether and when another behavior follows.
func (x *cell) failed(p *Panic) (delay time.Duration, again bool) {
	policy, r := x.policy.withDefaults(), x.extra()
	r.cause = p
	now := time.Now()
	r.panics = append(policy.recent(r.panics, now), now)
	if n := len(r.panics); n > policy.Max {
		r.reason = &ParkedError{Actor: p.Actor, Panics: n, Within: policy.Within, Last: p}
		return 0, false
	}
	_, made := x.q.msg.(making)
	p.restarting = !made
	return policy.delay(len(r.panics)), true
}

// restartAfter lets a timer ask for the next behavior, so that the worker is
// free and a stop takes effect meanwhile.
func (x *cell) restartAfter(d time.Duration) {
	r := x.extra()
	if r.timer != nil {
		r.timer.Reset(d)
		return
	}
	r.timer = time.AfterFunc(d, func() { x.PostSystemMessage(protoactor().restart) })
}

// report reports a panic: to the embedder, then to the behavior if it is to be
// replaced.
func (x *cell) report(p *Panic) {
	if x.sys.onEscalation != nil {
		x.q.msg = hook{}
		x.sys.onEscalation(p.Actor, p)
	}
	if p.restarting && x.phase == alive {
		m := Restarting{Cause: p}
		x.q.msg = m
		x.behavior.Receive((*Context)(x), m)
	}
}

// endLife wakes the asks, which check whether they can still be answered.
func (x *cell) endLife() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r := x.rare; r != nil && r.life != nil {
		close(r.life)
		r.life = nil
	}
}
