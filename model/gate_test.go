package model

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// TestGateNeverLosesATicketNorLetsTooManyIn drives the gate through random
// histories: every ticket is either queued, in flight or gone, the limit holds,
// nobody is let in while the gate is closed, and once the API is well again all
// who wait get in.
func TestGateNeverLosesATicketNorLetsTooManyIn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := GovernorOptions{
			MaxConcurrent: rapid.IntRange(0, 4).Draw(t, "limit"),
			Rand:          func() float64 { return rapid.Float64Range(0, 0.999).Draw(t, "dice") },
		}.withDefaults()
		m := &machine{g: gate{opts: &o, wake: func() {}}, now: time.Unix(1_000_000, 0)}
		t.Repeat(map[string]func(*rapid.T){
			"enter":  m.enter,
			"accept": m.accept,
			"fail":   m.fail,
			"leave":  m.leave,
			"later":  m.later,
			"":       m.check,
		})
		m.recover(t)
	})
}

type machine struct {
	g      gate
	now    time.Time
	flying []*ticket
}

func (m *machine) enter(t *rapid.T) {
	in := &ticket{since: m.now, ready: make(chan struct{}, 1), notice: make(chan Backoff, 1)}
	m.g.queue = append(m.g.queue, in)
	m.pump(t)
}

// admitNext lets in who may go and checks that the gate was open to them.
func (m *machine) pump(t *rapid.T) {
	shut, until, waiting := m.g.phase == closed, m.g.until, slices.Clone(m.g.queue)
	m.g.admitNext(m.now)
	m.collect(t, waiting, shut && m.now.Before(until))
}

func (m *machine) collect(t *rapid.T, waiting []*ticket, barred bool) {
	m.g.schedule(m.now, time.Time{}) // no real timers in this test
	for _, in := range waiting {
		select {
		case <-in.ready:
			if barred {
				t.Fatal("a request was let in while the gate was closed")
			}
			m.flying = append(m.flying, in)
		default:
		}
	}
}

// act does something to a ticket in flight and takes those it let in.
func (m *machine) act(t *rapid.T, f func(*ticket)) {
	if len(m.flying) == 0 {
		t.Skip("nobody is in flight")
	}
	waiting := slices.Clone(m.g.queue)
	f(rapid.SampledFrom(m.flying).Draw(t, "ticket"))
	m.collect(t, waiting, false)
}

func (m *machine) accept(t *rapid.T) {
	m.act(t, func(in *ticket) { m.g.recordSuccess(in, m.now) })
}

func (m *machine) leave(t *rapid.T) {
	m.act(t, func(in *ticket) { m.land(in) })
}

func (m *machine) land(in *ticket) {
	m.flying = slices.DeleteFunc(m.flying, func(x *ticket) bool { return x == in })
	m.g.release(in, m.now)
}

func (m *machine) fail(t *rapid.T) {
	kind := rapid.SampledFrom([]ErrorKind{RateLimited, Overloaded, Server, Network, Truncated}).Draw(t, "kind")
	after := time.Duration(rapid.IntRange(0, 60).Draw(t, "retry-after")) * time.Second
	m.act(t, func(in *ticket) {
		m.g.recordFailure(in, &Error{Kind: kind, RetryAfter: after}, m.now)
		m.land(in)
		m.g.queue = append(m.g.queue, in)
	})
}

func (m *machine) later(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(1, 30_000).Draw(t, "ms")) * time.Millisecond)
	m.pump(t)
}

func (m *machine) check(t *rapid.T) {
	if m.g.flight != len(m.flying) {
		t.Fatalf("the gate counts %d in flight, there are %d", m.g.flight, len(m.flying))
	}
	if limit := m.g.opts.MaxConcurrent; limit > 0 && m.g.flight > limit {
		t.Fatalf("%d in flight, the limit is %d", m.g.flight, limit)
	}
	for _, in := range m.g.queue {
		if in.inFlight {
			t.Fatal("a ticket is queued and in flight")
		}
	}
}

// recover lets the API answer everything well and wants the queue to empty.
func (m *machine) recover(t *rapid.T) {
	for range 10_000 {
		for len(m.flying) > 0 {
			waiting := slices.Clone(m.g.queue)
			in := m.flying[0]
			m.g.recordSuccess(in, m.now)
			m.land(in)
			m.collect(t, waiting, false)
		}
		if len(m.g.queue) == 0 {
			return
		}
		m.now = m.now.Add(time.Second)
		m.pump(t)
	}
	t.Fatalf("%d still wait in phase %d", len(m.g.queue), m.g.phase)
}

// probe runs one request whose probe ends as end returns while another waits, and returns
// when the other has its answer.
func probe(t *testing.T, end func(ctx context.Context, cancel context.CancelFunc) error) (took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		n := 0
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		m := NewGovernor(GovernorOptions{Rand: func() float64 { return 0 }}).Govern(streamFunc(
			func(_ context.Context, _ *Request, yield func(Event, error) bool) {
				mu.Lock()
				n++
				which := n
				mu.Unlock()
				switch which {
				case 1:
					yield(Event{}, limited(10*time.Second))
				case 2:
					yield(Event{}, end(ctx, cancel))
				default:
					yield(Event{Kind: Finished, Answer: &Answer{Message: AssistantMessage(Text("ok"))}}, nil)
				}
			}))
		if _, err := Complete(ctx, streamFuncOnce(m), &Request{}); err == nil {
			t.Error("the first request was not told of the limit")
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := Complete(ctx, m, &Request{}); err == nil {
				t.Error("the probe was answered")
			}
		})
		synctest.Wait()
		begun := time.Now()
		if _, err := Complete(t.Context(), m, &Request{}); err != nil {
			t.Error(err)
		}
		took = time.Since(begun)
		wg.Wait()
	})
	return took
}

// streamFuncOnce gives up at the first back-off.
func streamFuncOnce(m Model) Model {
	return streamFunc(func(ctx context.Context, r *Request, yield func(Event, error) bool) {
		for e, err := range m.Stream(ctx, r) {
			if err != nil || e.Kind == BackingOff {
				yield(Event{}, errors.Join(err, errors.New("backing off")))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	})
}

func TestAProbeThatFindsNothingOutIsFollowedAtOnce(t *testing.T) {
	took := probe(t, func(ctx context.Context, cancel context.CancelFunc) error {
		cancel()
		return Cancelled(ctx)
	})
	if took != 10*time.Second {
		t.Errorf("the next one went after %v, want the 10s of the limit", took)
	}
}

func TestAProbeThatIsRefusedForItselfOpensTheGate(t *testing.T) {
	took := probe(t, func(context.Context, context.CancelFunc) error { return &Error{Kind: Invalid} })
	if want := 10*time.Second + time.Second/firstRate; took != want {
		t.Errorf("the next one went after %v, want %v: the limit and the first pause of the pace", took, want)
	}
}
