package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// api is a model whose answers depend on virtual time.
type api struct {
	latency time.Duration
	answer  func(now time.Duration, n int) error // nil: a good answer

	begun  time.Time
	mu     sync.Mutex
	sent   []time.Duration // guarded by mu
	flight atomic.Int32
	most   atomic.Int32
}

func (a *api) Stream(ctx context.Context, _ *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		a.mu.Lock()
		now, n := time.Since(a.begun), len(a.sent)
		a.sent = append(a.sent, now)
		err := a.answer(now, n)
		a.mu.Unlock()
		if f := a.flight.Add(1); f > a.most.Load() {
			a.most.Store(f)
		}
		defer a.flight.Add(-1)
		if err != nil {
			yield(Event{}, err)
			return
		}
		if !yield(Event{Kind: TextDelta, Text: "a"}, nil) {
			return
		}
		select {
		case <-time.After(a.latency):
			yield(Event{Kind: Finished, Answer: &Answer{Message: AssistantMessage(Text("ok"))}}, nil)
		case <-ctx.Done():
			yield(Event{}, Cancelled(ctx))
		}
	}
}

func (a *api) between(from, to time.Duration) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, at := range a.sent {
		if at >= from && at < to {
			n++
		}
	}
	return n
}

func overloaded() error { return NewError(529, "overloaded_error", "", 0) }
func limited(wait time.Duration) error {
	return NewError(429, "rate_limit_error", "", wait)
}

func options(seed uint64) GovernorOptions {
	return GovernorOptions{Rand: rand.New(rand.NewPCG(seed, seed)).Float64}
}

// run lets n agents make the given number of requests each, one after another,
// and returns how long each agent waited in all and the errors.
func run(t *testing.T, m Model, n, requests int) (took []time.Duration, failed []error, backoffs map[int]int) {
	t.Helper()
	took, backoffs = make([]time.Duration, n), map[int]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	begun := time.Now()
	for i := range n {
		wg.Go(func() {
			for range requests {
				for e, err := range m.Stream(t.Context(), &Request{}) {
					mu.Lock()
					if err != nil {
						failed = append(failed, err)
					}
					if e.Kind == BackingOff {
						backoffs[e.Backoff.Status]++
					}
					mu.Unlock()
				}
			}
			took[i] = time.Since(begun)
		})
	}
	wg.Wait()
	return took, failed, backoffs
}

// TestThirtyAgentsSurviveAnOutageAndARateLimit is the case of user problem 11:
// 529 to everybody for 90 s, then 5 requests a second with 429 and retry-after
// 20 beyond.
func TestThirtyAgentsSurviveAnOutageAndARateLimit(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tokens, at := 5.0, 90*time.Second
				a := &api{latency: 2 * time.Second, begun: time.Now()}
				a.answer = func(now time.Duration, _ int) error {
					if now < 90*time.Second {
						return overloaded()
					}
					tokens, at = min(5, tokens+5*(now-at).Seconds()), now
					if tokens < 1 {
						return limited(20 * time.Second)
					}
					tokens--
					return nil
				}
				took, failed, backoffs := run(t, NewGovernor(options(seed)).Govern(a), 30, 3)
				if len(failed) > 0 {
					t.Errorf("%d requests were lost, the first by %v", len(failed), failed[0])
				}
				if n := a.between(0, 90*time.Second); n > 30+25 {
					t.Errorf("%d requests during the outage, want at most the 30 under way and 25 probes", n)
				}
				if backoffs[529] < 30 {
					t.Errorf("only %d were told of the outage", backoffs[529])
				}
				if ratio := float64(slices.Max(took)) / float64(slices.Min(took)); ratio > 3 {
					t.Errorf("one agent waited %.1f times as long as another", ratio)
				}
				for s := 90; s < 400; s++ {
					if n := a.between(time.Duration(s)*time.Second, time.Duration(s+1)*time.Second); n > 10 {
						t.Errorf("a storm of %d requests in second %d", n, s)
					}
				}
			})
		})
	}
}

func TestAThousandAgentsGoOnWithoutASpike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{latency: 5 * time.Second, begun: time.Now()}
		a.answer = func(now time.Duration, _ int) error {
			if now < time.Minute {
				return overloaded()
			}
			return nil
		}
		took, failed, _ := run(t, NewGovernor(options(1)).Govern(a), 1000, 1)
		if len(failed) > 0 {
			t.Errorf("%d requests were lost", len(failed))
		}
		if last := slices.Max(took); last > 4*time.Minute {
			t.Errorf("the last agent went on after %v", last)
		}
		for s := 1; s < 300; s++ {
			if n := a.between(time.Duration(s)*time.Second, time.Duration(s+1)*time.Second); n > int(openRate) {
				t.Errorf("%d requests in second %d", n, s)
			}
		}
	})
}

func TestRandomFailuresLeaveMostOfTheThroughput(t *testing.T) {
	clean, failing := finish(t, 0), finish(t, 0.3)
	if share := float64(clean) / float64(failing); share < 0.6 {
		t.Errorf("with 30 %% failures the throughput is %.0f %% of the clean one, want 60 %%", 100*share)
	}
}

// finish returns how long 20 agents need for 20 requests of 10 s each.
func finish(t *testing.T, share float64) (took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		dice := rand.New(rand.NewPCG(3, 3))
		a := &api{latency: 10 * time.Second, begun: time.Now()}
		a.answer = func(time.Duration, int) error {
			if dice.Float64() < share {
				return overloaded()
			}
			return nil
		}
		all, failed, _ := run(t, NewGovernor(options(3)).Govern(a), 20, 20)
		if len(failed) > 0 {
			t.Errorf("%d requests were lost", len(failed))
		}
		took = slices.Max(all)
	})
	return took
}

func TestRetryAfterIsHonouredUpToItsCap(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{20 * time.Second: 20 * time.Second, time.Hour: 10 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			a := &api{begun: time.Now(), answer: func(_ time.Duration, n int) error {
				if n == 0 {
					return limited(asked)
				}
				return nil
			}}
			if _, failed, _ := run(t, NewGovernor(options(1)).Govern(a), 1, 1); len(failed) > 0 {
				t.Fatal(failed)
			}
			if again := a.sent[1]; again < want || again > want+want/4 {
				t.Errorf("asked to wait %v, tried again after %v, want about %v", asked, again, want)
			}
		})
	}
}

func TestAttemptsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{begun: time.Now(), answer: func(time.Duration, int) error { return overloaded() }}
		_, failed, _ := run(t, NewGovernor(options(1)).Govern(a), 1, 1)
		var e *Error
		if len(a.sent) != 10 || len(failed) != 1 || !errors.As(failed[0], &e) || e.Kind != Overloaded {
			t.Errorf("%d requests were sent, errors %v; want 10 and one overloaded error", len(a.sent), failed)
		}
	})
}

func TestWhatCannotPassIsNotRetried(t *testing.T) {
	for _, kind := range []ErrorKind{TooLong, Auth, Spend, Invalid, Refused, Empty} {
		synctest.Test(t, func(t *testing.T) {
			a := &api{begun: time.Now(), answer: func(time.Duration, int) error { return &Error{Kind: kind} }}
			_, failed, backoffs := run(t, NewGovernor(options(1)).Govern(a), 3, 1)
			if len(a.sent) != 3 || len(failed) != 3 || len(backoffs) != 0 {
				t.Errorf("%s: %d requests for 3, %d errors", kind, len(a.sent), len(failed))
			}
		})
	}
}

func TestOneBrokenStreamHoldsNobodyElseUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{begun: time.Now(), latency: time.Second, answer: func(_ time.Duration, n int) error {
			if n == 0 {
				return &Error{Kind: Truncated}
			}
			return nil
		}}
		took, failed, _ := run(t, NewGovernor(options(1)).Govern(a), 10, 1)
		slices.Sort(took)
		if len(failed) > 0 || took[8] != time.Second || len(a.sent) != 11 {
			t.Errorf("errors %v, waits %v, %d requests", failed, took, len(a.sent))
		}
	})
}

func TestConcurrencyIsLimitedAndFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{begun: time.Now(), latency: time.Second, answer: func(time.Duration, int) error { return nil }}
		m := NewGovernor(GovernorOptions{MaxConcurrent: 2}).Govern(a)
		var order []int
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				<-time.After(time.Duration(i) * time.Millisecond)
				if _, err := Complete(t.Context(), m, &Request{}); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
			})
		}
		wg.Wait()
		if a.most.Load() != 2 || !slices.IsSorted(order) {
			t.Errorf("%d at once, finished in order %v", a.most.Load(), order)
		}
	})
}

func TestWaitingEndsWithTheContextAndWithTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{begun: time.Now(), answer: func(_ time.Duration, n int) error {
			if n == 0 {
				return limited(time.Minute)
			}
			return nil
		}}
		m := NewGovernor(options(1)).Govern(a)
		why := errors.New("stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		if _, err := Complete(ctx, m, &Request{}); !errors.Is(err, why) {
			t.Errorf("the wait ended with %v", err)
		}
		for e := range m.Stream(t.Context(), &Request{}) {
			if e.Kind != BackingOff || e.Backoff.Attempt != 0 || e.Backoff.Status != 429 {
				t.Errorf("one who waits for another's failure is told %+v", e.Backoff)
			}
			break
		}
		// The gate is not left to a ghost: somebody else gets through.
		if _, err := Complete(t.Context(), m, &Request{}); err != nil {
			t.Error(err)
		}
		if len(a.sent) != 2 {
			t.Errorf("%d requests were sent, want 2", len(a.sent))
		}
	})
}

func TestAnObserverKnowsWhenARequestLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{begun: time.Now(), answer: func(_ time.Duration, n int) error {
			time.Sleep(time.Second)
			if n == 1 {
				return limited(0)
			}
			return nil
		}}
		m := NewGovernor(GovernorOptions{MaxConcurrent: 1}).Govern(a)
		told := func() (kinds []string) {
			for e := range m.Stream(t.Context(), &Request{}) {
				kinds = append(kinds, e.Kind.String())
			}
			return kinds
		}
		var first, second []string
		var wg sync.WaitGroup
		wg.Go(func() { first = told() })
		synctest.Wait()
		wg.Go(func() { second = told() })
		wg.Wait()
		if got, want := strings.Join(first, ", "), "sent, text delta, finished"; got != want {
			t.Errorf("the first is told %s, want %s", got, want)
		}
		if got, want := strings.Join(second, ", "), "queued, sent, backing off, sent, text delta, finished"; got != want {
			t.Errorf("the second is told %s, want %s", got, want)
		}
	})
}

func TestAHangingProbeIsFollowedByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{begun: time.Now()}
		a.answer = func(_ time.Duration, n int) error {
			if n == 0 {
				return limited(time.Second)
			}
			return nil
		}
		hanging := make(chan struct{})
		m := NewGovernor(options(1)).Govern(streamFunc(func(ctx context.Context, r *Request, yield func(Event, error) bool) {
			if r.Model == "hang" && len(a.sent) > 0 {
				close(hanging)
				<-ctx.Done()
				yield(Event{}, Cancelled(ctx))
				return
			}
			for e, err := range a.Stream(ctx, r) {
				if !yield(e, err) {
					return
				}
			}
		}))
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := Complete(ctx, m, &Request{Model: "hang"}); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		<-hanging
		if _, err := Complete(t.Context(), m, &Request{}); err != nil {
			t.Error(err)
		}
		cancel()
		wg.Wait()
	})
}

func TestALongWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(1)
		o.MaxWait = time.Minute
		a := &api{begun: time.Now(), answer: func(time.Duration, int) error { return limited(5 * time.Minute) }}
		took, failed, _ := run(t, NewGovernor(o).Govern(a), 2, 1)
		var e *Error
		if len(failed) != 2 || !errors.As(failed[0], &e) || e.Kind != RateLimited || slices.Max(took) > 2*time.Minute {
			t.Errorf("waits %v, errors %v", took, failed)
		}
	})
}

func TestAGovernedStreamWithoutAnEndIsTruncated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewGovernor(options(1)).Govern(streamFunc(func(_ context.Context, _ *Request, yield func(Event, error) bool) {
			yield(Event{Kind: TextDelta, Text: "a"}, nil)
		}))
		_, err := Complete(t.Context(), m, &Request{})
		var e *Error
		if !errors.As(err, &e) || e.Kind != Truncated {
			t.Errorf("got %v", err)
		}
	})
}

type streamFunc func(context.Context, *Request, func(Event, error) bool)

func (f streamFunc) Stream(ctx context.Context, r *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) { f(ctx, r, yield) }
}
