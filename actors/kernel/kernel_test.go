package kernel

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

type get chan<- int

type urgent int

func (urgent) ControlMessage() {}

func newSystem(t testing.TB, o Options) *System {
	t.Helper()
	s := New(o)
	t.Cleanup(func() { stopSystem(t, s) })
	return s
}

func stopSystem(t testing.TB, s *System) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// spawn starts an actor of one function.
func spawn(t testing.TB, s *System, name string, f func(c *Context, m any)) Ref {
	t.Helper()
	return spawnWith(t, s, name, f, SpawnOptions{})
}

func spawnWith(t testing.TB, s *System, name string, f func(c *Context, m any), o SpawnOptions) Ref {
	t.Helper()
	r, err := s.Spawn(name, func() Behavior { return Func(f) }, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func count(t testing.TB, r Ref) int {
	t.Helper()
	n, err := Ask(t.Context(), r, func(c chan<- int) any { return get(c) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// gate is a message that holds its receiver until released.
type gate struct{ in, out chan struct{} }

func newGate() gate { return gate{make(chan struct{}), make(chan struct{})} }

func (g gate) pass() {
	close(g.in)
	<-g.out
}

// journal collects what a behavior receives; several behaviors may share one.
type journal struct {
	mu  sync.Mutex
	got []any
}

func (j *journal) add(m any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.got = append(j.got, m)
}

func (j *journal) all() []any {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.got)
}

func (j *journal) want(t *testing.T, want ...any) {
	t.Helper()
	if diff := cmp.Diff(want, j.all()); diff != "" {
		t.Errorf("received (-want +got):\n%s", diff)
	}
}

func TestMessagesOfOneSenderKeepTheirOrder(t *testing.T) {
	s := newSystem(t, Options{})
	last := make([]int, 8)
	total := 0
	r := spawn(t, s, "a@1", func(_ *Context, m any) {
		switch m := m.(type) {
		case [2]int:
			if m[1] != last[m[0]]+1 {
				t.Errorf("sender %d: message %d came after %d", m[0], m[1], last[m[0]])
			}
			last[m[0]] = m[1]
			total++
		case get:
			m <- total
		}
	})
	var wg sync.WaitGroup
	for i := range last {
		wg.Go(func() {
			for n := range 5000 {
				r.Tell([2]int{i, n + 1})
			}
		})
	}
	wg.Wait()
	if n := count(t, r); n != 40_000 {
		t.Errorf("received %d messages, want 40000", n)
	}
}

type askUrgent struct{ c chan<- int }

func (askUrgent) ControlMessage() {}

func TestControlOvertakesAlsoInAnAsk(t *testing.T) {
	s := newSystem(t, Options{})
	j, g := &journal{}, newGate()
	r := spawn(t, s, "a@1", func(_ *Context, m any) {
		switch m := m.(type) {
		case Started, Stopping, Stopped:
		case gate:
			m.pass()
		case askUrgent:
			j.add("ask")
			m.c <- 1
		case get:
			m <- 0
		default:
			j.add(m)
		}
	})
	r.Tell(g)
	<-g.in
	r.Tell(1)
	r.Tell(urgent(1))
	r.Tell(2)
	asked := make(chan error)
	go func() {
		_, err := Ask(t.Context(), r, func(c chan<- int) any { return askUrgent{c} })
		asked <- err
	}()
	for r.x.UserMessageCount() < 4 {
		runtime.Gosched()
	}
	r.Tell(urgent(2))
	close(g.out)
	if err := <-asked; err != nil {
		t.Fatal(err)
	}
	count(t, r)
	j.want(t, urgent(1), "ask", urgent(2), 1, 2)
}

func TestControlOvertakesABatchAlreadyTaken(t *testing.T) {
	s := newSystem(t, Options{})
	j := &journal{}
	r := spawn(t, s, "a@1", func(c *Context, m any) {
		switch m := m.(type) {
		case gate:
			m.pass()
		case int:
			j.add(m)
			if m == 1 {
				c.Self().Tell(urgent(9))
			}
		case urgent:
			j.add(m)
		case get:
			m <- 0
		}
	})
	g := newGate()
	r.Tell(g)
	<-g.in
	for i := range 4 {
		r.Tell(i)
	}
	close(g.out)
	count(t, r)
	j.want(t, 0, 1, urgent(9), 2, 3)
}

func TestStopOvertakesAndHandsOverTheUndelivered(t *testing.T) { // trap 3
	s := newSystem(t, Options{})
	j, g := &journal{}, newGate()
	r := spawn(t, s, "a@1", func(_ *Context, m any) {
		if g, ok := m.(gate); ok {
			g.pass()
			return
		}
		j.add(m)
	})
	r.Tell(g)
	<-g.in
	for i := range 3 {
		r.Tell(i)
	}
	r.Tell(urgent(7))
	r.Stop()
	r.Stop()
	close(g.out)
	<-r.Done()
	j.want(t, Started{}, Stopping{}, Stopped{Undelivered: []any{urgent(7), 0, 1, 2}})
	if n := s.Dropped(); n != 0 {
		t.Errorf("%d messages counted as dropped, want 0", n)
	}
}

func TestNothingIsReceivedBetweenStoppingAndStopped(t *testing.T) { // trap 4
	s := newSystem(t, Options{})
	j := &journal{}
	r := spawn(t, s, "a@1", func(c *Context, m any) {
		j.add(m)
		if _, ok := m.(Stopping); ok {
			c.Self().Tell("late")
			c.Self().Tell(urgent(1))
		}
	})
	r.Stop()
	<-r.Done()
	j.want(t, Started{}, Stopping{}, Stopped{Undelivered: []any{urgent(1), "late"}})
}

func TestTellAfterStopIsDroppedAndCounted(t *testing.T) {
	s := newSystem(t, Options{})
	r := spawn(t, s, "a@1", func(*Context, any) {})
	r.Stop()
	<-r.Done()
	r.Tell(1)
	r.Tell(urgent(2))
	if n := s.Dropped(); n != 2 {
		t.Errorf("%d dropped, want 2", n)
	}
	var none Ref
	none.Tell(1)
	none.Stop()
	<-none.Done()
	if none.Name() != "" || none != (Ref{}) || none == r {
		t.Error("the zero Ref is not inert")
	}
}

func TestABusyActorStopsWhenItReturnsHoweverLate(t *testing.T) { // trap 7
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		var busy time.Duration
		r := spawn(t, s, "busy@1", func(_ *Context, m any) {
			if d, ok := m.(time.Duration); ok {
				<-time.After(d)
				busy = d
			}
		})
		spawn(t, s, "idle@1", func(*Context, any) {})
		r.Tell(time.Hour)
		synctest.Wait()
		cause := errors.New("patience is over")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, cause)
		defer cancel()
		err := s.Stop(ctx)
		stop := new(StopError)
		if !errors.As(err, &stop) || !slices.Equal(stop.Names, []string{"busy@1"}) || !errors.Is(err, cause) {
			t.Errorf("Stop of a busy system: %v", err)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if busy != time.Hour {
			t.Error("Stop returned before Receive did")
		}
		if _, err := s.Spawn("late@1", nil, SpawnOptions{}); !errors.Is(err, ErrStopped) {
			t.Errorf("Spawn after Stop: %v", err)
		}
	})
}

func TestNothingIsLeftAfterSystemStop(t *testing.T) {
	// The bubble fails the test if a goroutine is left, TestMain if one outlives it.
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{MaxIdleWorkers: 50})
		stopped := 0
		var mu sync.Mutex
		policy := &RestartPolicy{Backoff: time.Hour}
		for i := range 200 {
			r := spawnWith(t, s, fmt.Sprintf("a@%d", i), func(_ *Context, m any) {
				switch m.(type) {
				case int:
					panic("x")
				case Stopped:
					mu.Lock()
					stopped++
					mu.Unlock()
				}
			}, SpawnOptions{Restart: policy})
			if i%2 == 0 {
				r.Tell(i) // waits for its restart when the system stops
			}
		}
		synctest.Wait()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if err := s.Stop(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if stopped != 200 || s.workers.live != 0 || s.first != nil {
			t.Errorf("%d of 200 stopped, %d workers left", stopped, s.workers.live)
		}
	})
}

func TestTheNameIsHeldUntilStoppedHasReturned(t *testing.T) { // trap 16
	s := newSystem(t, Options{})
	g := newGate()
	r := spawn(t, s, "a@1", func(_ *Context, m any) {
		if _, ok := m.(Stopped); ok {
			g.pass()
		}
	})
	r.Stop()
	<-g.in
	_, err := s.Spawn("a@1", func() Behavior { t.Error("produced"); return nil }, SpawnOptions{})
	if !errors.Is(err, ErrNameTaken) {
		t.Errorf("Spawn while Stopped is received: %v", err)
	}
	close(g.out)
	<-r.Done()
	spawn(t, s, "a@1", func(*Context, any) {})
}

func TestATakenNameRunsNoProducer(t *testing.T) { // trap 13
	s := newSystem(t, Options{})
	r := spawn(t, s, "a@1", func(*Context, any) {})
	other := newSystem(t, Options{})
	spawn(t, other, "a@1", func(*Context, any) {}) // systems share nothing
	_, err := s.Spawn("a@1", func() Behavior { t.Error("produced"); return nil }, SpawnOptions{})
	if !errors.Is(err, ErrNameTaken) {
		t.Errorf("got %v, want ErrNameTaken", err)
	}
	if r.Name() != "a@1" {
		t.Errorf("name is %q", r.Name())
	}
}

func TestTellingDuringTheSpawnOnlyQueues(t *testing.T) { // trap 12
	s := newSystem(t, Options{})
	<-s.ready
	x := &cell{sys: s}
	r := Ref{x}
	r.Tell(1)
	r.Tell(urgent(2))
	j := &journal{}
	x.produce = func() Behavior { return Func(func(_ *Context, m any) { j.add(m) }) }
	if err := s.add("early@1", x); err != nil {
		t.Fatal(err)
	}
	r.Tell(3)
	for len(j.all()) < 4 {
		runtime.Gosched()
	}
	j.want(t, Started{}, urgent(2), 1, 3)
}

func TestActorsMaySpawnAndTellWhileReceiving(t *testing.T) {
	s := newSystem(t, Options{})
	j := &journal{}
	done := make(chan struct{})
	spawn(t, s, "a@1", func(c *Context, m any) {
		if _, ok := m.(Started); !ok {
			return
		}
		parent := c.Self()
		kid := spawn(t, c.System(), c.Name()+"/kid@1", func(c *Context, m any) {
			j.add(m)
			if m == "go" {
				parent.Stop()
				close(done)
			}
		})
		kid.Tell("go")
	})
	<-done
	j.want(t, Started{}, "go")
}

func TestWorkersAreReusedAndBounded(t *testing.T) {
	s := newSystem(t, Options{MaxIdleWorkers: 4})
	var refs []Ref
	g := newGate()
	var in sync.WaitGroup
	for i := range 100 {
		r := spawn(t, s, fmt.Sprintf("a@%d", i), func(_ *Context, m any) {
			if m == "hold" {
				in.Done()
				<-g.out
			}
		})
		refs = append(refs, r)
	}
	in.Add(len(refs))
	for _, r := range refs {
		r.Tell("hold")
	}
	in.Wait() // all at once: blocked receivers must not hold up the others
	close(g.out)
	for s.workers.busy() > 0 {
		runtime.Gosched()
	}
	s.workers.mu.Lock()
	defer s.workers.mu.Unlock()
	if n := len(s.workers.idle); n > 4 || n == 0 {
		t.Errorf("%d workers parked, want 1 to 4", n)
	}
}

func TestAnIdleActorHasNoQueueAndOneSizeClass(t *testing.T) {
	s := newSystem(t, Options{})
	r := spawn(t, s, "a@1", func(_ *Context, m any) {
		if c, ok := m.(get); ok {
			c <- 0
		}
	})
	for range 1000 {
		r.Tell(1)
	}
	count(t, r)
	for s.workers.busy() > 0 {
		runtime.Gosched()
	}
	r.x.mu.Lock()
	defer r.x.mu.Unlock()
	if r.x.q != nil {
		t.Error("an idle actor keeps a queue")
	}
	if size := unsafe.Sizeof(cell{}); size > 112 {
		t.Errorf("a cell takes %d bytes, want at most 112", size)
	}
}

func TestManyTellersLoseNothing(t *testing.T) {
	s := newSystem(t, Options{})
	var received, undelivered atomic.Int64
	var wg sync.WaitGroup
	const actors, tellers, each = 20, 4, 500
	for i := range actors {
		r := spawn(t, s, fmt.Sprintf("a@%d", i), func(_ *Context, m any) {
			switch m := m.(type) {
			case int:
				received.Add(1)
			case Stopped:
				undelivered.Add(int64(len(m.Undelivered)))
			}
		})
		for k := range tellers {
			wg.Go(func() {
				for n := range each {
					r.Tell(n)
					if k == 0 && n == each/2 {
						r.Stop()
					}
				}
			})
		}
	}
	wg.Wait()
	stopSystem(t, s)
	sum := received.Load() + undelivered.Load() + int64(s.Dropped())
	if sum != actors*tellers*each {
		t.Errorf("received %d + undelivered %d + dropped %d = %d, told %d",
			received.Load(), undelivered.Load(), s.Dropped(), sum, actors*tellers*each)
	}
}

func TestDoneIsClosedByTheStopAndNotByARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		r := spawn(t, s, "a@1", func(_ *Context, m any) {
			if m == "boom" {
				panic(m)
			}
		})
		early := r.Done()
		r.Tell("boom")
		<-time.After(time.Minute)
		select {
		case <-early:
			t.Error("closed by a restart")
		default:
		}
		r.Stop()
		<-early
		<-r.Done()
		unseen := spawn(t, s, "b@1", func(*Context, any) {})
		unseen.Stop()
		synctest.Wait()
		<-unseen.Done() // asked for only after the end
		stopSystem(t, s)
	})
}
