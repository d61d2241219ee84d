package kernel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestEveryAskResolvesDuringRandomStops(t *testing.T) {
	s := newSystem(t, Options{})
	const asks, stops, askers = 10_000, 200, 20
	var refs [10]atomic.Pointer[Ref]
	var spawned atomic.Int64
	respawn := func(slot int) {
		r := spawnWith(t, s, fmt.Sprintf("a@%d", spawned.Add(1)), func(_ *Context, m any) {
			c, ok := m.(get)
			if !ok {
				return
			}
			switch n := rand.IntN(100); {
			case n < 60:
				c <- n
			case n < 80:
				go func() { c <- n }()
			case n < 82:
				panic("asked too much")
			} // or never: only the stop, or the context, resolves it
		}, SpawnOptions{Restart: &RestartPolicy{Backoff: -1, Max: 1 << 20}})
		if old := refs[slot].Swap(&r); old != nil {
			old.Stop()
		}
	}
	for i := range refs {
		respawn(i)
	}
	// Unanswered asks end with the stop of their actor; the stopper goes on
	// until the last asker is served, and makes at least 200 of them.
	var answered, stopped, panicked atomic.Int64
	var wg sync.WaitGroup
	for range askers {
		wg.Go(func() {
			for range asks / askers {
				_, err := Ask(t.Context(), *refs[rand.IntN(len(refs))].Load(), func(c chan<- int) any { return get(c) })
				switch p := new(Panic); {
				case err == nil:
					answered.Add(1)
				case errors.Is(err, ErrStopped):
					stopped.Add(1)
				case errors.As(err, &p):
					panicked.Add(1)
				default:
					t.Errorf("ask: %v", err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	made := 0
	for over := false; !over || made < stops; made++ {
		respawn(rand.IntN(len(refs)))
		runtime.Gosched() // on one processor the askers need it
		select {
		case <-done:
			over = true
		default:
		}
	}
	if sum := answered.Load() + stopped.Load() + panicked.Load(); sum != asks || answered.Load() == 0 || stopped.Load() == 0 {
		t.Errorf("%d answered + %d stopped + %d panicked of %d", answered.Load(), stopped.Load(), panicked.Load(), asks)
	}
	t.Logf("%d answered, %d stopped, %d panicked, %d stops", answered.Load(), stopped.Load(), panicked.Load(), made)
}

func ask(ctx context.Context, r Ref) error {
	_, err := Ask(ctx, r, func(c chan<- int) any { return get(c) })
	return err
}

func TestAskResolvesWithTheCauseOfItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		r := spawn(t, s, "mute@1", func(*Context, any) {})
		tooSlow := errors.New("too slow")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, tooSlow)
		defer cancel()
		if err := ask(ctx, r); !errors.Is(err, tooSlow) {
			t.Errorf("got %v", err)
		}
		if err := ask(ctx, r); !errors.Is(err, tooSlow) {
			t.Errorf("asked with an ended context: %v", err)
		}
		stopSystem(t, s)
	})
}

func TestAskSurvivesTheRestartOfItsActor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		r := spawn(t, s, "a@1", func(_ *Context, m any) {
			switch m := m.(type) {
			case string:
				panic(m)
			case get:
				m <- 1
			}
		})
		r.Tell("boom")
		synctest.Wait()
		start := time.Now()
		if err := ask(t.Context(), r); err != nil || time.Since(start) != time.Second {
			t.Errorf("asked during the back-off: %v after %v", err, time.Since(start))
		}
		stopSystem(t, s)
	})
}

// The reply is held by a behavior; the panic of a later message neither answers
// nor fails the ask.
func TestAskIsFailedByItsOwnMessageOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		var held get
		r := spawn(t, s, "a@1", func(_ *Context, m any) {
			switch m := m.(type) {
			case get:
				held = m
			case string:
				panic(m)
			case int:
				held <- m
			}
		})
		got := make(chan error)
		go func() { got <- ask(t.Context(), r) }()
		synctest.Wait()
		for range 3 {
			r.Tell("boom")
			<-time.After(10 * time.Second)
		}
		r.Tell(1)
		if err := <-got; err != nil {
			t.Error(err)
		}
		stopSystem(t, s)
	})
}

func TestAnAskLeftInTheQueueCanBeAnsweredByStopped(t *testing.T) {
	s := newSystem(t, Options{})
	g := newGate()
	r := spawn(t, s, "a@1", func(_ *Context, m any) {
		switch m := m.(type) {
		case gate:
			m.pass()
		case Stopped:
			m.Undelivered[0].(get) <- 1
		}
	})
	r.Tell(g)
	<-g.in
	got := make(chan [2]error)
	var first sync.WaitGroup
	first.Go(func() {
		a := ask(t.Context(), r)
		go func() { got <- [2]error{a, ask(t.Context(), r)} }()
	})
	for r.x.UserMessageCount() == 0 {
		<-time.After(0)
	}
	r.Stop()
	close(g.out)
	first.Wait()
	if errs := <-got; errs[0] != nil || !errors.Is(errs[1], ErrStopped) {
		t.Errorf("queued ask: %v, ask after the stop: %v", errs[0], errs[1])
	}
}

func TestAskOfTheZeroRef(t *testing.T) {
	if err := ask(t.Context(), Ref{}); !errors.Is(err, ErrStopped) {
		t.Errorf("got %v", err)
	}
}

func TestAnAnswerCountsThoughItsMessagePanicked(t *testing.T) {
	s := newSystem(t, Options{})
	r := spawnWith(t, s, "a@1", func(_ *Context, m any) {
		if c, ok := m.(get); ok {
			c <- 1
			panic("after the answer")
		}
	}, SpawnOptions{Restart: &RestartPolicy{Backoff: -1, Max: 1 << 20}})
	for range 500 {
		if err := ask(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}
