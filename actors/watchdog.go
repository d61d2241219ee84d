package actors

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/model"
)

// TimeoutError is why the watchdog ended a turn. It is turn.ErrTimedOut, which
// its text leaves to the outcome it stands beside.
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

// watchdog ends one turn whose work stands still. It looks at what the turn has
// done, not at signs of life: a connection that is kept open is no progress. Its
// methods may be called from any goroutine.
type watchdog struct {
	limits Deadlines
	cut    context.CancelCauseFunc // of the turn

	mu     sync.Mutex
	over   bool              // guarded by mu
	run    *clock            // guarded by mu
	asking int               // questions to a person that are open; guarded by mu
	answer *clock            // of the request under way; guarded by mu
	calls  map[string]*clock // guarded by mu
}

func newWatchdog(limits Deadlines, cut context.CancelCauseFunc) *watchdog {
	w := &watchdog{limits: limits, cut: cut, calls: map[string]*clock{}}
	w.run, w.answer = &clock{w: w}, &clock{w: w}
	return w
}

// begin starts the clock of the turn.
func (w *watchdog) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.run.start(&TimeoutError{Deadline: deadlineRun, After: w.limits.Run})
}

// stop ends the watch.
func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.run.stop()
	w.answer.stop()
	for _, c := range w.calls {
		c.stop()
	}
}

// ask lets the turn's clock stand still until answered is called as often.
func (w *watchdog) ask() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asking++
	w.run.pause()
}

func (w *watchdog) answered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asking--; w.asking == 0 {
		w.run.resume()
	}
}

// see takes note of what the turn does; waits says that a call that begins
// waits for agents or a person.
func (w *watchdog) see(f event.Fact, waits bool) {
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

// stream takes note of what happens to the request under way.
func (w *watchdog) stream(e model.Event) {
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

// backOff goes on counting after a silence or a break, which is the request's
// own. It does not count a wait that the API asked for with a status, or that is
// for a failure of others.
func (w *watchdog) backOff(b *model.Backoff) {
	if b.Status != 0 || b.Attempt == 0 {
		w.answer.pause()
	} else {
		w.answer.resume()
	}
	w.answer.become(w.noStart()) // the answer begins anew; what was lost counts
}

func (w *watchdog) noStart() *TimeoutError {
	return &TimeoutError{Deadline: deadlineStart, After: w.limits.Start}
}

// clock counts up to a deadline and can stand still. The mutex of its watchdog
// guards it.
type clock struct {
	w     *watchdog
	err   *TimeoutError // nil: it has not been started
	used  time.Duration // before since
	since time.Time     // zero: it stands still
	timer *time.Timer
}

// start counts from nothing.
func (c *clock) start(err *TimeoutError) {
	c.err, c.used, c.since = err, 0, time.Now()
	c.set()
}

// become goes on counting towards another deadline.
func (c *clock) become(err *TimeoutError) {
	if c.err != nil {
		c.err = err
		c.set()
	}
}

func (c *clock) pause() {
	if !c.since.IsZero() {
		c.used += time.Since(c.since)
		c.since = time.Time{}
		c.set()
	}
}

func (c *clock) resume() {
	if c.err != nil && c.since.IsZero() {
		c.since = time.Now()
		c.set()
	}
}

func (c *clock) stop() {
	c.err, c.since = nil, time.Time{}
	c.set()
}

// set makes the timer ring when the clock will have counted enough.
func (c *clock) set() {
	running := !c.w.over && !c.since.IsZero() && c.err.After > 0
	switch {
	case !running && c.timer != nil:
		c.timer.Stop()
	case running && c.timer == nil:
		c.timer = time.AfterFunc(c.left(), c.ring)
	case running:
		c.timer.Reset(c.left())
	}
}

func (c *clock) left() time.Duration { return c.err.After - c.used - time.Since(c.since) }

// ring ends the turn, unless the clock was set anew while the timer rang.
func (c *clock) ring() {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if !c.w.over && !c.since.IsZero() && c.left() <= 0 {
		c.w.cut(c.err)
	}
}
