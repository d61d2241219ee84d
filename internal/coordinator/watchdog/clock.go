package watchdog

import "time"

// clock counts up to a deadline and can be paused. The mutex of its watchdog
// guards it.
type clock struct {
	w     *Watchdog
	err   *TimeoutError // nil: it has not been started
	used  time.Duration // up to since
	since time.Time     // zero: it is paused
	timer *time.Timer
}

// start counts from zero.
func (c *clock) start(err *TimeoutError) {
	c.err, c.used, c.since = err, 0, time.Now()
	c.set()
}

// become counts on towards another deadline.
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

// set starts or stops the timer so that it fires at the deadline.
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

// ring reports the deadline, unless the clock was set again while the timer fired.
func (c *clock) ring() {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if !c.w.over && !c.since.IsZero() && c.left() <= 0 {
		c.w.report(c.err)
	}
}
