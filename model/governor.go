package model

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"sync"
	"time"
)

// GovernorOptions tune a Governor; the zero value is what one credential of a
// usual account needs.
type GovernorOptions struct {
	MaxConcurrent int            // requests at once; 0: no limit
	MaxAttempts   int            // of one request; 0: 10, at most 15
	MaxDelay      time.Duration  // of exponential back-off; 0: 60 s
	MaxRetryAfter time.Duration  // most of what an API asks to wait; 0: 10 min
	MaxWait       time.Duration  // of one request, all its waits together; 0: 1 h
	Rand          func() float64 // in [0, 1), for jitter; nil: math/rand/v2
}

func (o GovernorOptions) withDefaults() GovernorOptions {
	if o.MaxAttempts <= 0 {
		o.MaxAttempts = 10
	}
	o.MaxAttempts = min(o.MaxAttempts, 15)
	for _, d := range []struct {
		field *time.Duration
		def   time.Duration
	}{{&o.MaxDelay, time.Minute}, {&o.MaxRetryAfter, 10 * time.Minute}, {&o.MaxWait, time.Hour}} {
		if *d.field <= 0 {
			*d.field = d.def
		}
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	return o
}

// Governor makes all callers of one credential wait and retry as one, so that
// an API that is overloaded or limits the rate is neither stormed nor given up.
//
// Laws:
//
//   - A rate limit, or failures in a row with nothing accepted between them,
//     close the gate for everybody. One request probes when the time is over;
//     all others wait for what it finds. So an outage costs the requests that
//     were under way when it began and one probe after each back-off.
//   - After an outage requests are let in at a pace that grows while they are
//     accepted, up to the pace at which a rate limit was met before.
//   - Who has waited longest goes first; a request that failed keeps its place.
//   - A wait an API asks for is kept, up to MaxRetryAfter.
//   - What cannot succeed later is not retried: see Error.Retryable. A request is
//     sent at most MaxAttempts times; waiting for the gate is no attempt.
//   - Every failure that is retried is told as BackingOff, also to those who
//     wait for somebody else's failure. Sent tells when the wait is over, and
//     Queued that a request waits although nothing failed.
//
// A Governor starts no goroutines, holds no timer while nobody waits, and is
// safe for concurrent use.
type Governor struct {
	opts GovernorOptions

	mu   sync.Mutex
	gate gate // guarded by mu
}

// NewGovernor returns a governor for one credential.
func NewGovernor(o GovernorOptions) *Governor {
	g := &Governor{opts: o.withDefaults()}
	g.gate = gate{opts: &g.opts, wake: g.wake}
	return g
}

// Govern returns m with its requests governed. All models of one credential
// belong to one governor.
func (g *Governor) Govern(m Model) Model { return &governed{m: m, g: g} }

func (g *Governor) wake() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gate.pump(time.Now())
}

type governed struct {
	m Model
	g *Governor
}

// errGone says that the reader of a stream broke its loop.
var errGone = errors.New("model: the reader of the stream went away")

// Stream sends the request when it is its turn, again if need be. See Model.
func (m *governed) Stream(ctx context.Context, r *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		t := &ticket{since: time.Now(), ready: make(chan struct{}, 1), notice: make(chan Backoff, 1)}
		defer m.g.leave(t)
		for {
			err := m.g.wait(ctx, t, yield)
			if err == nil {
				err = m.attempt(ctx, r, t, yield)
			}
			if err == nil || errors.Is(err, errGone) {
				return
			}
			b, again := m.g.failed(ctx, t, err)
			if !again {
				yield(Event{}, err)
				return
			}
			if !yield(Event{Kind: BackingOff, Backoff: &b}, nil) {
				return
			}
		}
	}
}

// attempt sends the request once. It returns nil when the answer is finished.
func (m *governed) attempt(ctx context.Context, r *Request, t *ticket, yield func(Event, error) bool) error {
	for e, err := range m.m.Stream(ctx, r) {
		if err != nil {
			return err
		}
		if e.Kind != Growing {
			m.g.accepted(t)
		}
		if e.Kind == Finished {
			m.g.leave(t) // before the reader acts on the answer, maybe for hours
		}
		if !yield(e, nil) {
			return errGone
		}
		if e.Kind == Finished {
			return nil
		}
	}
	return &Error{Kind: Truncated, Message: "the stream ended without an answer"}
}

// wait queues the ticket and returns when it is let in.
func (g *Governor) wait(ctx context.Context, t *ticket, yield func(Event, error) bool) error {
	g.enter(t)
	limit := time.NewTimer(g.opts.MaxWait - t.waited)
	defer limit.Stop()
	begun := time.Now()
	defer func() { t.waited += time.Since(begun) }()
	if !t.sent && len(t.ready) == 0 && len(t.notice) == 0 && !yield(Event{Kind: Queued}, nil) {
		return errGone
	}
	for {
		select {
		case <-t.ready:
			t.sent = true
			if !yield(Event{Kind: Sent}, nil) {
				return errGone
			}
			return nil
		case b := <-t.notice:
			if !yield(Event{Kind: BackingOff, Backoff: &b}, nil) {
				return errGone
			}
		case <-ctx.Done():
			return Cancelled(ctx)
		case <-limit.C:
			return g.gaveUp(t)
		}
	}
}

func (g *Governor) gaveUp(t *ticket) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	t.spent = true
	if g.gate.last == nil {
		return &Error{Kind: RateLimited, Message: "the request waited too long for its turn"}
	}
	e := *g.gate.last
	return &e
}

func (g *Governor) enter(t *ticket) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.gate.queue = append(g.gate.queue, t)
	if !t.told && g.gate.shut() {
		g.gate.tell(t, now)
	}
	g.gate.pump(now)
}

func (g *Governor) accepted(t *ticket) {
	if t.accepted {
		return
	}
	t.accepted = true
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gate.accept(t, time.Now())
}

// leave gives back what the ticket holds: a place in the queue or in flight.
func (g *Governor) leave(t *ticket) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gate.release(t, time.Now())
}

// failed books a failure and says whether to try again and from when.
func (g *Governor) failed(ctx context.Context, t *ticket, err error) (Backoff, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	var e *Error
	if !errors.As(err, &e) || ctx.Err() != nil || t.spent {
		g.gate.release(t, now)
		return Backoff{}, false
	}
	if !e.Retryable() {
		g.gate.accept(t, now) // the API works; it is the request that does not
		g.gate.release(t, now)
		return Backoff{}, false
	}
	g.gate.fail(t, e, now)
	g.gate.release(t, now)
	t.accepted, t.told = false, true
	if t.attempts >= g.opts.MaxAttempts {
		return Backoff{}, false
	}
	return g.gate.backoff(t, e, now), true
}
