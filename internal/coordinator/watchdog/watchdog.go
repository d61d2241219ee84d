package watchdog

import (
	"fmt"
	"sync"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/model"
)

// TimeoutError reports the deadline that a turn has missed. It wraps turn.ErrTimedOut,
// whose text the outcome of the turn shows.
type TimeoutError struct {
	Deadline string        // start, gap, tool or run
	After    time.Duration // the deadline
	Tool     string        // the tool's name, for a tool
}

func (e *TimeoutError) Error() string {
	what := ""
	switch e.Deadline {
	case deadlineStart:
		what = "no first token"
	case deadlineGap:
		what = "the answer stood still"
	case deadlineTool:
		what = "the tool " + e.Tool + " had no result"
	case deadlineRun:
		what = "the turn had no end"
	}
	return fmt.Sprintf("%s for %v; --%s-timeout sets the limit", what, e.After, e.Deadline)
}

// Unwrap returns turn.ErrTimedOut.
func (e *TimeoutError) Unwrap() error { return turn.ErrTimedOut }

const (
	deadlineStart = "start"
	deadlineGap   = "gap"
	deadlineTool  = "tool"
	deadlineRun   = "run"
)

// A Watchdog watches one turn. Its methods may be called from any goroutine.
type Watchdog struct {
	limits agent.Deadlines
	report func(error)

	mu     sync.Mutex
	over   bool              // guarded by mu
	run    *clock            // guarded by mu
	paused int               // calls of Pause without their Resume; guarded by mu
	answer *clock            // of the request in flight; guarded by mu
	calls  map[string]*clock // guarded by mu
}

// New returns a watchdog that calls report with a *TimeoutError when a deadline
// has passed, on a goroutine of its own and perhaps more than once. It watches
// from Begin, or from the first request, until Stop.
func New(limits agent.Deadlines, report func(error)) *Watchdog {
	w := &Watchdog{limits: limits, report: report, calls: map[string]*clock{}}
	w.run, w.answer = &clock{w: w}, &clock{w: w}
	return w
}

// Begin starts the clock of the turn.
func (w *Watchdog) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.run.start(&TimeoutError{Deadline: deadlineRun, After: w.limits.Run})
}

// Stop ends the watch. It may be called more than once.
func (w *Watchdog) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.run.stop()
	w.answer.stop()
	for _, c := range w.calls {
		c.stop()
	}
}

// Pause stops the clock of the turn while a person is asked, until Resume has
// been called as often.
func (w *Watchdog) Pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused++
	w.run.pause()
}

// Resume undoes one Pause.
func (w *Watchdog) Resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.paused--; w.paused == 0 {
		w.run.resume()
	}
}

// Observe observes a fact of the turn. waits reports that the call which begins
// waits for agents or a person, and so has no deadline of its own.
func (w *Watchdog) Observe(f event.Fact, waits bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch f := f.(type) {
	case event.Requested, event.Compacting:
		w.answer.start(w.noStart())
	case event.CallStarted:
		if !waits {
			c := &clock{w: w}
			w.calls[f.Call.ID] = c
			c.start(&TimeoutError{Deadline: deadlineTool, After: w.limits.Tool, Tool: f.Call.Name})
		}
	case event.CallFinished:
		if c := w.calls[f.Call.ID]; c != nil {
			c.stop()
			delete(w.calls, f.Call.ID)
		}
	}
}

// Stream observes an event of the request in flight.
func (w *Watchdog) Stream(e model.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e.Kind {
	case model.Queued:
		w.answer.pause()
	case model.Sent:
		w.answer.resume()
	case model.BackingOff:
		w.backOff(e.Backoff)
	case model.Finished:
		w.answer.stop()
	default:
		w.answer.start(&TimeoutError{Deadline: deadlineGap, After: w.limits.Gap})
	}
}

// backOff goes on counting after the request itself was silent or broke. It does not
// count a wait that the API asked for with a status, or that another request caused.
func (w *Watchdog) backOff(b *model.Backoff) {
	if b.Status != 0 || b.Attempt == 0 {
		w.answer.pause()
	} else {
		w.answer.resume()
	}
	w.answer.become(w.noStart()) // the answer begins anew; what was lost counts
}

func (w *Watchdog) noStart() *TimeoutError {
	return &TimeoutError{Deadline: deadlineStart, After: w.limits.Start}
}
