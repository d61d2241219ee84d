package model

import (
	"math"
	"slices"
	"time"
)

// Parameters of the gate. Rates are requests per second.
const (
	outageFailures = 3    // consecutive failures that count as an outage
	firstRate      = 2.0  // after an outage
	fastGrowth     = 0.5  // per accepted request: doubles every 1.4 s at any rate
	slowGrowth     = 0.05 // the same above the rate that was refused before
	openRate       = 200.0
	lowestRate     = 0.25
	backOffRate    = 0.7 // of the rate that met a rate limit
	holdRate       = time.Minute
	firstDelay     = time.Second
	// probeTimeout is how long requests wait for one probe before another is sent: a request
	// may hang, or be slow to begin.
	probeTimeout = 30 * time.Second
)

// gatePhase is how the gate treats waiting requests.
type gatePhase int

const (
	open    gatePhase = iota // admits every request
	closed                   // admits none until a time
	probing                  // has admitted one; all others wait for its result
	pacing                   // admits one after the other
)

// ticket is one request. The fields above mu's line belong to the goroutine of the stream;
// the governor's mutex guards those below.
type ticket struct {
	ready    chan struct{} // holds one value when the request is admitted
	notice   chan Backoff  // the newest notice while the request waits
	since    time.Time     // when the request was made
	waited   time.Duration
	accepted bool
	sent     bool // once at least

	notified  bool // it was notified of the back-off
	spent     bool // it has used up its waiting time
	inFlight  bool
	probe     bool
	epoch     int // of the gate at the admission
	attempts  int
	notBefore time.Time
}

// gate decides which request may be sent when. The governor's mutex is held by callers.
type gate struct {
	opts  *GovernorOptions
	wake  func()
	timer *time.Timer

	phase               gatePhase
	queue               []*ticket
	flight              int
	epoch               int       // number of times that the gate closed
	until               time.Time // closed
	failures            int       // consecutive probes that failed
	consecutiveFailures int       // consecutive failures without a success
	last                *Error    // the newest failure

	rate      float64
	threshold float64   // the rate to approach slowly; 0 if unknown
	hold      time.Time // until then the threshold is not exceeded
	nextAt    time.Time // pacing: when the next one is admitted
	recent    []time.Time
}

func (g *gate) shut() bool { return g.phase == closed || g.phase == probing }

// admitNext admits what may be sent now and sets the timer for the next request.
func (g *gate) admitNext(now time.Time) {
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

// next returns the request to admit, or when to check again; the zero time means that
// another event comes first.
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

// before orders by waiting time. Probes are distributed among the waiting requests, since
// each costs one of a request's attempts.
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
		g.phase, g.until = probing, now.Add(probeTimeout)
	case pacing:
		g.nextAt = now.Add(time.Duration(float64(time.Second) / g.rate))
	}
	g.recent = append(slices.DeleteFunc(g.recent, func(at time.Time) bool { return now.Sub(at) > time.Second }), now)
	select {
	case <-t.notice: // it waits no longer
	default:
	}
	t.ready <- struct{}{}
}

func (g *gate) drop(t *ticket) {
	if i := slices.Index(g.queue, t); i >= 0 {
		g.queue = slices.Delete(g.queue, i, i+1)
	}
}

// release ends a ticket, however it ended. If a probe ended without a result, another
// follows.
func (g *gate) release(t *ticket, now time.Time) {
	g.drop(t)
	if t.inFlight {
		t.inFlight = false
		g.flight--
		if t.probe && t.epoch == g.epoch && g.phase == probing {
			g.phase, g.until = closed, now
		}
	}
	g.admitNext(now)
}

// recordSuccess records that the API accepted a request.
func (g *gate) recordSuccess(t *ticket, now time.Time) {
	if !t.inFlight || t.epoch != g.epoch {
		return // it was admitted before the gate closed, so it proves nothing about the present
	}
	t.probe = false
	g.consecutiveFailures = 0
	switch g.phase {
	case probing, closed: // closed: the probe was slow and another was due
		g.phase, g.failures, g.rate = pacing, 0, firstRate
		if g.threshold > 0 {
			g.rate = min(g.rate, g.threshold)
		}
		g.nextAt = now.Add(time.Duration(float64(time.Second) / g.rate))
		g.admitNext(now)
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
	if len(g.queue) == 0 { // otherwise all waiting requests would be sent at once
		g.phase, g.threshold = open, 0
	}
}

// recordFailure records a temporary failure. Failures of requests that were admitted before
// the gate closed belong to the failure that closed it.
func (g *gate) recordFailure(t *ticket, e *Error, now time.Time) {
	g.last = e
	own := g.jitter(t.attempts - 1)
	t.notBefore = now.Add(max(own, g.retryAfter(e)))
	if t.epoch != g.epoch {
		if g.phase == closed && e.Kind == RateLimited {
			g.until = later(g.until, now.Add(g.retryAfter(e)))
		}
		return
	}
	if e.Kind != Truncated {
		g.consecutiveFailures++
	}
	if t.probe || e.Kind == RateLimited || e.Kind != Truncated && g.consecutiveFailures >= outageFailures {
		g.shutFor(t, e, now)
	}
}

func (g *gate) shutFor(t *ticket, e *Error, now time.Time) {
	if !t.probe && e.Kind == RateLimited {
		g.threshold = max(lowestRate, backOffRate*g.pace())
	}
	delay := max(g.retryAfter(e), g.jitter(g.failures))
	if t.probe {
		g.failures++
	}
	g.phase, g.consecutiveFailures, g.until = closed, 0, now.Add(delay)
	g.hold = g.until.Add(holdRate)
	g.epoch++
	// Requests whose failure closed the gate wait for it like all others.
	t.notBefore = time.Time{}
	for _, waiting := range g.queue {
		waiting.notBefore = time.Time{}
		g.notify(waiting, now)
	}
}

// pace returns the rate of requests until now. One second is too little to go below the
// pace of a first approach.
func (g *gate) pace() float64 {
	if g.phase == pacing {
		return g.rate
	}
	return max(float64(len(g.recent)), firstRate/backOffRate)
}

// jitter returns a random part of a delay that doubles with each failure.
func (g *gate) jitter(failures int) time.Duration {
	whole := math.Min(float64(g.opts.MaxDelay), float64(firstDelay)*math.Exp2(float64(failures)))
	return time.Duration(g.opts.Rand() * whole)
}

// retryAfter returns the wait that the API asks for, and a little more, since other
// processes got the same answer.
func (g *gate) retryAfter(e *Error) time.Duration {
	d := min(e.RetryAfter, g.opts.MaxRetryAfter)
	return d + time.Duration(g.opts.Rand()*float64(min(d/10, 5*time.Second)))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// notify replaces the notice for a waiting request by the newest one.
func (g *gate) notify(t *ticket, now time.Time) {
	if g.last == nil {
		return
	}
	t.notified = true
	select {
	case <-t.notice: // the old notice
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
