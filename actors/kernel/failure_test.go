package kernel

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// at records when something was received, in virtual time since the start.
type at struct {
	after time.Duration
	what  string
}

func TestBackOffDoublesAndTheFourthPanicParks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var log []at
		note := func(format string, args ...any) {
			log = append(log, at{time.Since(start), fmt.Sprintf(format, args...)})
		}
		s := New(Options{OnEscalation: func(name string, cause any) {
			note("%s escalated %v", name, cause.(*Panic).Value)
		}})
		var reason error
		r := spawnWith(t, s, "a@1", func(_ *Context, m any) {
			switch m := m.(type) {
			case Started:
				note("started %d", m.Restarts)
			case Restarting:
				note("restarting after %v", m.Cause.Message)
			case Stopped:
				note("stopped with %v", m.Undelivered)
			case int:
				if m < 5 {
					panic(m)
				}
			}
		}, SpawnOptions{Parked: func(name string, err error) {
			note("%s parked", name)
			reason = err
		}})
		for i := range 6 {
			r.Tell(i + 1)
		}
		<-r.Done()
		want := []at{
			{0, "started 0"},
			{0, "a@1 escalated 1"},
			{0, "restarting after 1"},
			{1 * time.Second, "started 1"},
			{1 * time.Second, "a@1 escalated 2"},
			{1 * time.Second, "restarting after 2"},
			{3 * time.Second, "started 2"},
			{3 * time.Second, "a@1 escalated 3"},
			{3 * time.Second, "restarting after 3"},
			{7 * time.Second, "started 3"},
			{7 * time.Second, "a@1 escalated 4"},
			{7 * time.Second, "stopped with [5 6]"},
			{7 * time.Second, "a@1 parked"},
		}
		if diff := cmp.Diff(want, log, cmp.AllowUnexported(at{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		parked, last := new(ParkedError), new(Panic)
		if !errors.As(reason, &parked) || parked.Panics != 4 || !errors.As(reason, &last) || last.Message != 4 {
			t.Errorf("parked because %v", reason)
		}
		stopSystem(t, s)
	})
}

func TestPanicsOutsideTheWindowAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		restarts := 0
		r := spawnWith(t, s, "a@1", func(_ *Context, m any) {
			switch m := m.(type) {
			case Started:
				restarts = m.Restarts
			case int:
				panic(m)
			}
		}, SpawnOptions{Restart: &RestartPolicy{Max: 1, Within: time.Minute, Backoff: time.Second}})
		for range 20 {
			r.Tell(1)
			<-time.After(time.Minute)
		}
		synctest.Wait()
		if restarts != 20 || len(r.x.rare.panics) > 2 {
			t.Errorf("%d restarts, %d times kept", restarts, len(r.x.rare.panics))
		}
		stopSystem(t, s)
	})
}

func TestAPanicTouchesThatActorOnlyAndTheQueueSurvives(t *testing.T) { // trap 5
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		j, other := &journal{}, &journal{}
		made := 0
		r, err := s.Spawn("a@1", func() Behavior {
			made++
			mine := made
			return Func(func(_ *Context, m any) {
				switch m := m.(type) {
				case int:
					if m == 2 {
						panic("boom")
					}
					j.add([2]int{mine, m})
				case Started:
					if mine == 2 && (m.Restarts != 1 || m.Cause.Message != 2) {
						t.Errorf("second behavior got %+v", m)
					}
				}
			})
		}, SpawnOptions{})
		if err != nil {
			t.Fatal(err)
		}
		o := spawn(t, s, "b@1", func(_ *Context, m any) { other.add(m) })
		for i := range 4 {
			r.Tell(i + 1)
		}
		o.Tell("x")
		synctest.Wait()
		j.want(t, [2]int{1, 1})
		<-time.After(time.Second)
		synctest.Wait()
		j.want(t, [2]int{1, 1}, [2]int{2, 3}, [2]int{2, 4})
		other.want(t, Started{}, "x")
		stopSystem(t, s)
	})
}

func TestAStopDuringTheBackOffIsHeardAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		j := &journal{}
		start := time.Now()
		r := spawnWith(t, s, "a@1", func(_ *Context, m any) {
			if m == "boom" {
				panic(m)
			}
			if _, ok := m.(Restarting); !ok {
				j.add(m)
			}
		}, SpawnOptions{Restart: &RestartPolicy{Backoff: time.Hour, MaxBackoff: time.Hour}})
		r.Tell("boom")
		r.Tell("good")
		synctest.Wait()
		r.Stop()
		<-r.Done()
		if d := time.Since(start); d != 0 {
			t.Errorf("stopped after %v", d)
		}
		<-time.After(2 * time.Hour) // the timer must not revive it
		j.want(t, Started{}, Stopping{}, Stopped{Undelivered: []any{"good"}})
		stopSystem(t, s)
	})
}

// Every way in which a handler can end badly while an actor stops or fails.
func TestAPanicInALastHandlerRevivesAndKillsNothing(t *testing.T) { // trap 8
	ways := map[string]func(){
		"panic":  func() { panic("last words") },
		"goexit": runtime.Goexit,
	}
	for way, fail := range ways {
		t.Run(way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := &journal{}
				reported := &journal{}
				s := New(Options{OnEscalation: func(_ string, cause any) {
					reported.add(fmt.Sprintf("%T", cause.(*Panic).Message))
					fail()
				}})
				told := make(chan struct{})
				r := spawnWith(t, s, "a@1", func(_ *Context, m any) {
					switch m := m.(type) {
					case Started:
						<-told // or the message comes when the actor is no more
						j.add("kernel.Started")
					case Stopped:
						j.add(len(m.Undelivered))
					default:
						j.add(fmt.Sprintf("%T", m))
					}
					fail()
				}, SpawnOptions{Restart: &RestartPolicy{Max: -1}, Parked: func(string, error) {
					j.add("parked")
					fail()
				}})
				r.Tell(1)
				close(told)
				<-r.Done()
				synctest.Wait()
				j.want(t, "kernel.Started", "kernel.Stopping", 1, "parked")
				reported.want(t, "kernel.Started", "kernel.Stopping", "kernel.Stopped", "*kernel.ParkedError")
				stopSystem(t, s)
			})
		})
	}
}

func TestAPanicInRestartingIsOnlyReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reported := &journal{}
		s := New(Options{OnEscalation: func(_ string, cause any) { reported.add(cause.(*Panic).Value) }})
		starts := 0
		r := spawn(t, s, "a@1", func(_ *Context, m any) {
			switch m.(type) {
			case Started:
				starts++
			case Restarting:
				panic("in restarting")
			case int:
				panic("first")
			}
		})
		r.Tell(1)
		<-time.After(time.Second)
		synctest.Wait()
		reported.want(t, "first", "in restarting")
		if starts != 2 {
			t.Errorf("%d starts, want 2", starts)
		}
		stopSystem(t, s)
	})
}

func TestGoexitInReceiveIsAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		got := make(chan Started, 2)
		r := spawn(t, s, "a@1", func(_ *Context, m any) {
			switch m := m.(type) {
			case Started:
				got <- m
			case int:
				runtime.Goexit()
			}
		})
		<-got
		r.Tell(1)
		if m := <-got; !errors.Is(m.Cause, ErrExited) || m.Restarts != 1 {
			t.Errorf("restarted with %+v", m)
		}
		stopSystem(t, s)
	})
}

func TestAProducerThatPanicsIsRetriedThenParked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reported := &journal{}
		s := New(Options{OnEscalation: func(_ string, cause any) {
			reported.add(fmt.Sprintf("%T", cause.(*Panic).Message))
		}})
		made := 0
		var reason error
		r, err := s.Spawn("a@1", func() Behavior {
			if made++; made%2 == 0 {
				return nil
			}
			panic("no model")
		}, SpawnOptions{Parked: func(_ string, err error) { reason = err }})
		if err != nil {
			t.Fatal(err)
		}
		r.Tell("good")
		<-r.Done()
		parked := new(ParkedError)
		if !errors.As(reason, &parked) || made != 4 || !cmp.Equal(parked.Undelivered, []any{"good"}) {
			t.Errorf("%d tries, parked with %+v", made, reason)
		}
		if _, ok := parked.Last.Message.(Started); !ok || !errors.Is(parked, errNoBehavior) {
			t.Errorf("last panic: %v", parked.Last)
		}
		const started = "kernel.Started"
		reported.want(t, started, started, started, started)
		stopSystem(t, s)
	})
}

func TestAStopBeforeAnyBehaviorCountsItsMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		r, err := s.Spawn("a@1", func() Behavior { panic("no model") }, SpawnOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r.Tell(1)
		r.Tell(2)
		synctest.Wait()
		r.Stop()
		<-r.Done()
		if n := s.Dropped(); n != 2 {
			t.Errorf("%d dropped, want 2", n)
		}
		stopSystem(t, s)
	})
}

func TestAPanicNamesTheActorTheMessageAndThePlace(t *testing.T) {
	s := newSystem(t, Options{})
	cause := errors.New("disk full")
	r := spawn(t, s, "a@1", func(_ *Context, m any) {
		if _, ok := m.(get); ok {
			explode(cause)
		}
	})
	_, err := Ask(t.Context(), r, func(c chan<- int) any { return get(c) })
	p := new(Panic)
	if !errors.As(err, &p) || !errors.Is(err, cause) || p.Actor != "a@1" {
		t.Fatalf("got %v", err)
	}
	if _, ok := p.Message.(get); !ok || !strings.Contains(p.Stack(), "explode") || !strings.Contains(p.Stack(), "failure_test.go:") {
		t.Errorf("message %T, stack:\n%s", p.Message, p.Stack())
	}
}

func explode(err error) { panic(err) }

func TestAPanicStormParksAndKeepsTheGoodMessages(t *testing.T) {
	s := newSystem(t, Options{})
	var bad, good, parkings atomic.Int64
	for limit := range 2 {
		bad.Store(0)
		good.Store(0)
		parkings.Store(0)
		// First the default limit, then one the storm only just breaks.
		policy := &RestartPolicy{Backoff: -1, Max: 3 + limit*1996}
		g := newGate()
		r := spawnWith(t, s, fmt.Sprintf("a@%d", limit), func(_ *Context, m any) {
			switch m := m.(type) {
			case gate:
				m.pass()
			case int:
				panic(m)
			case string:
				good.Add(1)
			case Stopped:
				for _, m := range m.Undelivered {
					if _, ok := m.(string); ok {
						good.Add(1)
					} else {
						bad.Add(1)
					}
				}
			}
		}, SpawnOptions{Restart: policy, Parked: func(string, error) { parkings.Add(1) }})
		r.Tell(g)
		<-g.in
		for i := range 2000 {
			r.Tell(i)
		}
		for range 100 {
			r.Tell("good")
		}
		close(g.out)
		<-r.Done()
		if wantBad := 2000 - int64(policy.Max) - 1; parkings.Load() != 1 || good.Load() != 100 || bad.Load() != wantBad {
			t.Errorf("limit %d: parked %d times, %d good of 100, %d bad left of %d",
				policy.Max, parkings.Load(), good.Load(), bad.Load(), wantBad)
		}
	}
}

func TestEveryMessageEndsInOnePlace(t *testing.T) {
	s := New(Options{})
	policy := &RestartPolicy{Backoff: -1, Max: 40}
	var received, undelivered, panicked atomic.Int64
	s.onEscalation = func(_ string, cause any) {
		if _, ok := cause.(*Panic).Message.(int); ok {
			panicked.Add(1)
		}
	}
	const actors, told = 30, 1000
	var wg sync.WaitGroup
	for i := range actors {
		r := spawnWith(t, s, fmt.Sprintf("a@%d", i), func(_ *Context, m any) {
			switch m := m.(type) {
			case int:
				if m%(7+i) == 0 {
					panic(m)
				}
				received.Add(1)
			case Stopped:
				undelivered.Add(int64(len(m.Undelivered)))
			}
		}, SpawnOptions{Restart: policy})
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		wg.Go(func() {
			for n := range told {
				r.Tell(n)
				if rng.IntN(2*told) == 0 {
					r.Stop()
				}
			}
		})
	}
	wg.Wait()
	stopSystem(t, s)
	sum := received.Load() + undelivered.Load() + panicked.Load() + int64(s.Dropped())
	if sum != actors*told || panicked.Load() == 0 || undelivered.Load() == 0 {
		t.Errorf("received %d + undelivered %d + panicked %d + dropped %d = %d, want %d",
			received.Load(), undelivered.Load(), panicked.Load(), s.Dropped(), sum, actors*told)
	}
}
