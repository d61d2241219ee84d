package model

import (
	"math"
	"slices"
	"time"
)

// Figures of the gate. Rates are requests per second.
const (
	closeAfter  = 3    // failures in a row that are an outage
	firstRate   = 2.0  // after an outage
	fastGrowth  = 0.5  // per accepted request: doubles every 1.4 s at any rate
	slowGrowth  = 0.05 // the same beyond the rate that was too much before
	openRate    = 200.0
	lowestRate  = 0.25
	backOffRate = 0.7 // of the rate that met a rate limit
	holdRate    = time.Minute
	firstDelay  = time.Second
	// probePatience is how long all wait for one probe before another is sent:
	// a request may hang, or be slow to begin.
	probePatience = 30 * time.Second
)

// phase is what the gate does with those who wait.
type phase int

const (
	open    phase = iota // lets everybody in
	closed               // nobody until a time
	probing              // one is in, all others wait for what it finds
	pacing               // one after the other
)

// ticket is one request on its way. The fields above mu's line belong to the
// goroutine of the stream, those below are guarded by the governor's mutex.
type ticket struct {
	ready    chan struct{} // holds one value when the ticket is let in
	notice   chan Backoff  // the newest news for one who waits
	since    time.Time     // when the request was first made
	waited   time.Duration
	accepted bool
	sent     bool // once at least

	told      bool // it knows of the back-off
	spent     bool // it has waited all it may
	inFlight  bool
	probe     bool
	epoch     int // of the gate when it was let in
	attempts  int
	notBefore time.Time
}

// gate decides who may send when. All methods want the governor's mutex held.
type gate struct {
	opts  *GovernorOptions
	wake  func()
	timer *time.Timer

	phase    phase
	queue    []*ticket
	flight   int
	epoch    int       // counts closings
	until    time.Time // closed
	failures int       // probes in a row that failed
	trouble  int       // failures in a row with nothing accepted between
	last     *Error    // the newest failure

	rate      float64
	threshold float64   // the rate to approach slowly; 0: none is known
	hold      time.Time // until then the threshold is not passed
	nextAt    time.Time // pacing: the next may go
	recent    []time.Time
}

func (g *gate) shut() bool { return g.phase == closed || g.phase == probing }

// pump lets in whoever may go now and sets the timer for the next.
func (g *gate) pump(now time.Time) {
	for {
		t, at := g.next(now)
		if t == nil {
			g.schedule(now, at)
			return
		}
		g.admit(t, now)
	}
}

func (g *gate) schedule(now, at time.Time) {
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
	if !at.IsZero() {
		g.timer = time.AfterFunc(at.Sub(now), g.wake)
	}
}

// next returns who may go now, or when to look again; the zero time says that
// something else has to happen first.
func (g *gate) next(now time.Time) (*ticket, time.Time) {
	if g.phase == probing && !now.Before(g.until) {
		g.phase = closed
	}
	if len(g.queue) == 0 || g.opts.MaxConcurrent > 0 && g.flight >= g.opts.MaxConcurrent {
		return nil, time.Time{}
	}
	if g.shut() && now.Before(g.until) {
		return nil, g.until
	}
	if g.phase == pacing && now.Before(g.nextAt) {
		return nil, g.nextAt
	}
	var best *ticket
	var soonest time.Time
	for _, t := range g.queue {
		switch {
		case now.Before(t.notBefore):
			if soonest.IsZero() || t.notBefore.Before(soonest) {
				soonest = t.notBefore
			}
		case best == nil || g.before(t, best):
			best = t
		}
	}
	return best, soonest
}

// before orders by waiting time. Probes are shared out among those who wait, as
// each costs one of the attempts that a request has.
func (g *gate) before(a, b *ticket) bool {
	if g.phase == closed && a.attempts != b.attempts {
		return a.attempts < b.attempts
	}
	return a.since.Before(b.since)
}

func (g *gate) admit(t *ticket, now time.Time) {
	g.drop(t)
	g.flight++
	t.inFlight, t.epoch, t.probe = true, g.epoch, g.phase == closed
	t.attempts++
	switch g.phase {
	case closed:
		g.phase, g.until = probing, now.Add(probePatience)
	case pacing:
		g.nextAt = now.Add(time.Duration(float64(time.Second) / g.rate))
	}
	g.recent = append(slices.DeleteFunc(g.recent, func(at time.Time) bool { return now.Sub(at) > time.Second }), now)
	select {
	case <-t.notice: // no news for one who waits no more
	default:
	}
	t.ready <- struct{}{}
}

func (g *gate) drop(t *ticket) {
	if i := slices.Index(g.queue, t); i >= 0 {
		g.queue = slices.Delete(g.queue, i, i+1)
	}
}

// release ends a ticket's stay, however it ended. A probe that ended without
// finding anything out is followed by another.
func (g *gate) release(t *ticket, now time.Time) {
	g.drop(t)
	if t.inFlight {
		t.inFlight = false
		g.flight--
		if t.probe && t.epoch == g.epoch && g.phase == probing {
			g.phase, g.until = closed, now
		}
	}
	g.pump(now)
}

// accept books that the API took a request.
func (g *gate) accept(t *ticket, now time.Time) {
	if !t.inFlight || t.epoch != g.epoch {
		return // it was let in before the gate closed and says nothing of now
	}
	t.probe = false
	g.trouble = 0
	switch g.phase {
	case probing, closed: // closed: the probe was slow and another was due
		g.phase, g.failures, g.rate = pacing, 0, firstRate
		if g.threshold > 0 {
			g.rate = min(g.rate, g.threshold)
		}
		g.nextAt = now.Add(time.Duration(float64(time.Second) / g.rate))
		g.pump(now)
	case pacing:
		g.grow(now)
	}
}

func (g *gate) grow(now time.Time) {
	switch {
	case g.threshold == 0 || g.rate+fastGrowth <= g.threshold:
		g.rate += fastGrowth
	case now.After(g.hold):
		g.rate += slowGrowth
	}
	if g.rate < openRate {
		return
	}
	g.rate = openRate
	if len(g.queue) == 0 { // else all who wait would go at once
		g.phase, g.threshold = open, 0
	}
}

// fail books a failure that may pass. Failures of requests that were let in
// before the gate closed belong to what closed it.
func (g *gate) fail(t *ticket, e *Error, now time.Time) {
	g.last = e
	own := g.jitter(t.attempts - 1)
	t.notBefore = now.Add(max(own, g.asked(e)))
	if t.epoch != g.epoch {
		if g.phase == closed && e.Kind == RateLimited {
			g.until = later(g.until, now.Add(g.asked(e)))
		}
		return
	}
	if e.Kind != Truncated {
		g.trouble++
	}
	if t.probe || e.Kind == RateLimited || e.Kind != Truncated && g.trouble >= closeAfter {
		g.shutFor(t, e, now)
	}
}

func (g *gate) shutFor(t *ticket, e *Error, now time.Time) {
	if !t.probe && e.Kind == RateLimited {
		g.threshold = max(lowestRate, backOffRate*g.pace())
	}
	delay := max(g.asked(e), g.jitter(g.failures))
	if t.probe {
		g.failures++
	}
	g.phase, g.trouble, g.until = closed, 0, now.Add(delay)
	g.hold = g.until.Add(holdRate)
	g.epoch++
	// Those whose failure closed the gate wait for it like all others.
	t.notBefore = time.Time{}
	for _, waiting := range g.queue {
		waiting.notBefore = time.Time{}
		g.tell(waiting, now)
	}
}

// pace is the rate at which requests went out before now. What one second of
// free running shows is too little to go below the pace of a first approach.
func (g *gate) pace() float64 {
	if g.phase == pacing {
		return g.rate
	}
	return max(float64(len(g.recent)), firstRate/backOffRate)
}

// jitter is a random part of a delay that doubles with each failure.
func (g *gate) jitter(failures int) time.Duration {
	whole := math.Min(float64(g.opts.MaxDelay), float64(firstDelay)*math.Exp2(float64(failures)))
	return time.Duration(g.opts.Rand() * whole)
}

// asked is how long the API wants us to wait, and a little more, as other
// processes were told the same.
func (g *gate) asked(e *Error) time.Duration {
	d := min(e.RetryAfter, g.opts.MaxRetryAfter)
	return d + time.Duration(g.opts.Rand()*float64(min(d/10, 5*time.Second)))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// tell leaves the newest news for one who waits.
func (g *gate) tell(t *ticket, now time.Time) {
	if g.last == nil {
		return
	}
	t.told = true
	select {
	case <-t.notice: // old news
	default:
	}
	t.notice <- g.backoff(t, g.last, now)
}

func (g *gate) backoff(t *ticket, e *Error, now time.Time) Backoff {
	at := t.notBefore
	if g.phase == closed {
		at = later(at, g.until)
	}
	return Backoff{
		Attempt: t.attempts, MaxAttempts: g.opts.MaxAttempts,
		Delay: max(0, at.Sub(now)), Status: e.Status, Reason: e.Error(),
	}
}
