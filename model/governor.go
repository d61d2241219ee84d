package model

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"sync"
	"time"
)

// GovernorOptions configure a Governor; the zero value suits one credential of a usual
// account.
type GovernorOptions struct {
	MaxConcurrent int            // concurrent requests; 0: no limit
	MaxAttempts   int            // of one request; 0: 10, at most 15
	MaxDelay      time.Duration  // of exponential back-off; 0: 60 s
	MaxRetryAfter time.Duration  // limit of a wait that an API asks for; 0: 10 min
	MaxWait       time.Duration  // of one request, over all its waits; 0: 1 h
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

// Governor makes all requests with one credential wait and retry together, so that an API
// that is overloaded or limits the rate is neither flooded nor given up.
//
// Laws:
//
//   - A rate limit, or failures in a row with nothing accepted between them,
//     close the gate for all requests. One of them probes when the time is over;
//     all others wait for what it finds. So an outage costs the requests that
//     were under way when it began and one probe after each back-off.
//   - After an outage requests are let in at a pace that grows while they are
//     accepted, up to the pace at which a rate limit was met before.
//   - Requests are sent in the order of their arrival; one that failed keeps its place.
//   - A wait that an API asks for is honoured, up to MaxRetryAfter.
//   - What cannot succeed later is not retried: see Error.Retryable. A request is
//     sent at most MaxAttempts times; waiting for the gate is no attempt.
//   - Every failure that is retried is reported as BackingOff, also to requests that
//     wait because of another one's failure. Sent reports the end of the wait, and
//     Queued that a request waits although nothing failed.
//
// A Governor starts no goroutines, holds no timer while no request waits, and is
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
	g.gate.admitNext(time.Now())
}

type governed struct {
	m Model
	g *Governor
}

// errReaderStopped reports that the reader of a stream ended its loop.
var errReaderStopped = errors.New("model: the reader of the stream stopped")

// Stream sends the request when it is admitted, repeatedly if necessary. See Model.
func (m *governed) Stream(ctx context.Context, r *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		t := &ticket{since: time.Now(), ready: make(chan struct{}, 1), notice: make(chan Backoff, 1)}
		defer m.g.leave(t)
		for {
			err := m.g.wait(ctx, t, yield)
			if err == nil {
				err = m.attempt(ctx, r, t, yield)
			}
			if err == nil || errors.Is(err, errReaderStopped) {
				return
			}
			b, again := m.g.recordFailure(ctx, t, err)
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

// attempt sends the request once. It returns nil when the answer is complete.
func (m *governed) attempt(ctx context.Context, r *Request, t *ticket, yield func(Event, error) bool) error {
	for e, err := range m.m.Stream(ctx, r) {
		if err != nil {
			return err
		}
		if e.Kind != Growing {
			m.g.recordSuccess(t)
		}
		if e.Kind == Finished {
			m.g.leave(t) // before the reader acts on the answer, which may take hours
		}
		if !yield(e, nil) {
			return errReaderStopped
		}
		if e.Kind == Finished {
			return nil
		}
	}
	return &Error{Kind: Truncated, Message: "the stream ended without an answer"}
}

// wait queues the ticket and returns when it is admitted.
func (g *Governor) wait(ctx context.Context, t *ticket, yield func(Event, error) bool) error {
	g.enter(t)
	limit := time.NewTimer(g.opts.MaxWait - t.waited)
	defer limit.Stop()
	begun := time.Now()
	defer func() { t.waited += time.Since(begun) }()
	if !t.sent && len(t.ready) == 0 && len(t.notice) == 0 && !yield(Event{Kind: Queued}, nil) {
		return errReaderStopped
	}
	for {
		select {
		case <-t.ready:
			t.sent = true
			if !yield(Event{Kind: Sent}, nil) {
				return errReaderStopped
			}
			return nil
		case b := <-t.notice:
			if !yield(Event{Kind: BackingOff, Backoff: &b}, nil) {
				return errReaderStopped
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
	if !t.notified && g.gate.shut() {
		g.gate.notify(t, now)
	}
	g.gate.admitNext(now)
}

func (g *Governor) recordSuccess(t *ticket) {
	if t.accepted {
		return
	}
	t.accepted = true
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gate.recordSuccess(t, time.Now())
}

// leave releases what the ticket holds: a place in the queue or in flight.
func (g *Governor) leave(t *ticket) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gate.release(t, time.Now())
}

// recordFailure records a failure and returns whether to try again and when.
func (g *Governor) recordFailure(ctx context.Context, t *ticket, err error) (Backoff, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	var e *Error
	if !errors.As(err, &e) || ctx.Err() != nil || t.spent {
		g.gate.release(t, now)
		return Backoff{}, false
	}
	if !e.Retryable() {
		g.gate.recordSuccess(t, now) // the API works; the request is at fault
		g.gate.release(t, now)
		return Backoff{}, false
	}
	g.gate.recordFailure(t, e, now)
	g.gate.release(t, now)
	t.accepted, t.notified = false, true
	if t.attempts >= g.opts.MaxAttempts {
		return Backoff{}, false
	}
	return g.gate.backoff(t, e, now), true
}
