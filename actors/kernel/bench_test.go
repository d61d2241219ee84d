package kernel

import (
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Every ratio compares two contenders that take turns in one run: neighbours on
// the machine move absolute figures by a third, the ratios hardly.

const rounds = 20

// duel runs n operations of each contender, in turns, and returns the
// nanoseconds per operation of each.
func duel(n int, contenders ...func(n int)) []float64 {
	total := make([]time.Duration, len(contenders))
	part := max(n/rounds, 1)
	runs := max(n/part, 1)
	for i := range runs {
		for k := range contenders {
			c := (i + k) % len(contenders)
			start := time.Now()
			contenders[c](part)
			total[c] += time.Since(start)
		}
	}
	out := make([]float64, len(contenders))
	for c, d := range total {
		out[c] = float64(d.Nanoseconds()) / float64(part*runs)
	}
	return out
}

type ball struct {
	left int
	to   Ref
	done chan<- struct{}
}

func player(c *Context, m any) {
	b, ok := m.(*ball)
	if !ok {
		return
	}
	if b.left == 0 {
		b.done <- struct{}{}
		return
	}
	b.left--
	to := b.to
	b.to = c.Self()
	to.Tell(b)
}

func kernelPingPong(b *testing.B) func(n int) {
	s := newSystem(b, Options{})
	a, z := spawn(b, s, "a@1", player), spawn(b, s, "z@1", player)
	done := make(chan struct{}, 1)
	return func(n int) {
		a.Tell(&ball{left: 2 * n, to: z, done: done})
		<-done
	}
}

func chanPingPong(n int) {
	a, z := make(chan int, 1), make(chan int, 1)
	go func() {
		for i := range a {
			z <- i
		}
		close(z)
	}()
	for i := range n {
		a <- i
		<-z
	}
	close(a)
	<-z
}

type protoBall struct {
	left int
	to   *actor.PID
	done chan<- struct{}
}

func protoPingPong() func(n int) {
	sys := quietProtoactor()
	props := actor.PropsFromFunc(func(c actor.Context) {
		b, ok := c.Message().(*protoBall)
		if !ok {
			return
		}
		if b.left == 0 {
			b.done <- struct{}{}
			return
		}
		b.left--
		to := b.to
		b.to = c.Self()
		c.Send(to, b)
	})
	a, z := sys.Root.Spawn(props), sys.Root.Spawn(props)
	done := make(chan struct{}, 1)
	return func(n int) {
		sys.Root.Send(a, &protoBall{left: 2 * n, to: z, done: done})
		<-done
	}
}

func quietProtoactor() *actor.ActorSystem {
	return actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.DiscardHandler)
	}))
}

func BenchmarkRoundTrip(b *testing.B) {
	ours, proto := kernelPingPong(b), protoPingPong()
	b.ReportAllocs()
	b.ResetTimer()
	ns := duel(b.N, ours, chanPingPong, proto)
	b.ReportMetric(ns[0], "ns/op")
	b.ReportMetric(ns[0]/ns[1], "x-chan")
	b.ReportMetric(ns[0]/ns[2], "x-proto")
}

// BenchmarkRoundTripPair leaves protoactor out, whose garbage both others pay for.
func BenchmarkRoundTripPair(b *testing.B) {
	ours := kernelPingPong(b)
	b.ReportAllocs()
	b.ResetTimer()
	ns := duel(b.N, ours, chanPingPong)
	b.ReportMetric(ns[0], "ns/op")
	b.ReportMetric(ns[0]/ns[1], "x-chan")
}

type question struct{ reply chan<- int }

func BenchmarkAsk(b *testing.B) {
	s := newSystem(b, Options{})
	r := spawn(b, s, "a@1", func(_ *Context, m any) {
		if q, ok := m.(question); ok {
			q.reply <- 1
		}
	})
	ctx := b.Context()
	ours := func(n int) {
		for range n {
			if _, err := Ask(ctx, r, func(c chan<- int) any { return question{c} }); err != nil {
				b.Error(err)
			}
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	ns := duel(b.N, ours, chanAsk)
	b.ReportMetric(ns[0], "ns/op")
	b.ReportMetric(ns[0]/ns[1], "x-chan")
}

func chanAsk(n int) {
	in := make(chan any, 1)
	go func() {
		for m := range in {
			m.(question).reply <- 1
		}
	}()
	for range n {
		reply := make(chan int, 1)
		in <- question{reply}
		<-reply
	}
	close(in)
}

func BenchmarkFanIn(b *testing.B) {
	s := newSystem(b, Options{})
	var left int
	done := make(chan struct{}, 1)
	r := spawn(b, s, "a@1", func(_ *Context, m any) {
		switch m := m.(type) {
		case int:
			left = m
		case *ball:
			if left--; left == 0 {
				done <- struct{}{}
			}
		}
	})
	m := &ball{}
	ours := func(n int) {
		r.Tell(n / 8 * 8)
		eight(n/8, func() { r.Tell(m) })
		<-done
	}
	ns := duel(max(b.N, 8*rounds), ours, func(n int) {
		c := make(chan any, 1024)
		go eight(n/8, func() { c <- m })
		for range n / 8 * 8 {
			<-c
		}
	})
	b.ReportMetric(ns[0], "ns/op")
	b.ReportMetric(ns[0]/ns[1], "x-chan")
}

func eight(n int, f func()) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range n {
				f()
			}
		})
	}
	wg.Wait()
}

func BenchmarkSpawn(b *testing.B) {
	s := newSystem(b, Options{})
	names := make([]string, max(b.N, rounds))
	for i := range names {
		names[i] = fmt.Sprintf("agent@%d", i)
	}
	var refs []Ref
	next := 0
	started := make(chan struct{}, 1)
	produce := func() Behavior {
		return Func(func(_ *Context, m any) {
			if _, ok := m.(Started); ok {
				started <- struct{}{}
			}
		})
	}
	ours := func(n int) {
		for range n {
			r, err := s.Spawn(names[next], produce, SpawnOptions{})
			if err != nil {
				b.Fatal(err)
			}
			next++
			<-started
			refs = append(refs, r)
		}
	}
	stop := make(chan struct{})
	defer close(stop)
	b.ResetTimer()
	ns := duel(len(names), ours, func(n int) {
		for range n {
			go func() {
				started <- struct{}{}
				<-stop
			}()
			<-started
		}
	}, protoSpawn(b, names, started))
	b.ReportMetric(ns[0], "ns/op")
	b.ReportMetric(ns[0]/ns[1], "x-goroutine")
	b.ReportMetric(ns[0]/ns[2], "x-proto")
}

func protoSpawn(b *testing.B, names []string, started chan struct{}) func(n int) {
	sys := quietProtoactor()
	props := actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*actor.Started); ok {
			started <- struct{}{}
		}
	})
	next := 0
	return func(n int) {
		for range n {
			if _, err := sys.Root.SpawnNamed(props, names[next]); err != nil {
				b.Fatal(err)
			}
			next++
			<-started
		}
	}
}

// BenchmarkEnd measures a life: from the spawn of an actor, over the request to
// stop it, until whoever waits for its end knows of it. An actor of ours is
// waited for by Done; by protoactor's death watch besides; and the third is an
// actor that is protoactor's altogether.
func BenchmarkEnd(b *testing.B) {
	s := newSystem(b, Options{})
	plain := func() Behavior { return Func(func(*Context, any) {}) }
	ours, both := protoactor().root.ActorSystem(), quietProtoactor()
	props := actor.PropsFromFunc(func(actor.Context) {})
	b.ResetTimer()
	ns := duel(b.N, func(n int) {
		for range n {
			r := mustSpawn(b, s, plain)
			r.Stop()
			<-r.Done()
		}
	}, func(n int) {
		for range n {
			w := newDeathWatch(ours)
			r := mustSpawn(b, s, w.behavior)
			r.Stop()
			<-w.ended
			<-r.Done() // only now the name is free
			w.leave(ours)
		}
	}, func(n int) {
		for range n {
			w := newDeathWatch(both)
			pid := both.Root.Spawn(props)
			p, _ := both.ProcessRegistry.Get(pid)
			p.SendSystemMessage(pid, &actor.Watch{Watcher: w.pid})
			both.Root.Stop(pid)
			<-w.ended
			w.leave(both)
		}
	})
	b.ReportMetric(ns[0], "ns/op")
	b.ReportMetric(ns[0]/ns[1], "x-watched")
	b.ReportMetric(ns[0]/ns[2], "x-proto")
}

func mustSpawn(b *testing.B, s *System, produce func() Behavior) Ref {
	r, err := s.Spawn("a@1", produce, SpawnOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// deathWatch is the smallest use of protoactor's notification that an actor has ended.
type deathWatch struct {
	pid   *actor.PID
	ended chan struct{}
}

func newDeathWatch(sys *actor.ActorSystem) *deathWatch {
	w := &deathWatch{ended: make(chan struct{})}
	w.pid, _ = sys.ProcessRegistry.Add(w, sys.ProcessRegistry.NextId())
	return w
}

func (w *deathWatch) leave(sys *actor.ActorSystem) { sys.ProcessRegistry.Remove(w.pid) }

func (w *deathWatch) SendUserMessage(*actor.PID, any) {}
func (w *deathWatch) Stop(*actor.PID)                 {}
func (w *deathWatch) SendSystemMessage(_ *actor.PID, m any) {
	if _, ok := m.(*actor.Terminated); ok {
		close(w.ended)
	}
}

// behavior has the actor of ours watched from its start.
func (w *deathWatch) behavior() Behavior {
	return Func(func(c *Context, m any) {
		if _, ok := m.(Started); ok {
			(*cell)(c).inv.InvokeSystemMessage(&actor.Watch{Watcher: w.pid})
		}
	})
}

func BenchmarkRestart(b *testing.B) {
	s := newSystem(b, Options{})
	policy := &RestartPolicy{Max: 1 << 20, Within: time.Nanosecond, Backoff: -1}
	back := make(chan struct{}, 1)
	r, err := s.Spawn("a@1", func() Behavior {
		return Func(func(_ *Context, m any) {
			switch m.(type) {
			case bool:
				panic("x")
			case int:
				back <- struct{}{}
			}
		})
	}, SpawnOptions{Restart: policy})
	if err != nil {
		b.Fatal(err)
	}
	sys := quietProtoactor()
	pid := sys.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch c.Message().(type) {
		case bool:
			panic("x")
		case int:
			back <- struct{}{}
		}
	}, actor.WithGuardian(actor.RestartingSupervisorStrategy())))
	b.ResetTimer()
	ns := duel(b.N, func(n int) {
		for range n {
			r.Tell(true)
			r.Tell(1)
			<-back
		}
	}, func(n int) {
		for range n {
			sys.Root.Send(pid, true)
			sys.Root.Send(pid, 1)
			<-back
		}
	})
	b.ReportMetric(ns[0], "ns/op")
	b.ReportMetric(ns[0]/ns[1], "x-proto")
}

func BenchmarkIdleActor(b *testing.B) {
	const n = 100_000
	produce := func() Behavior { return Func(func(*Context, any) {}) }
	for range b.N {
		s := New(Options{})
		refs := make([]Ref, n)
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("agent@%d", i)
		}
		before, grs := heap()
		for i := range refs {
			r, err := s.Spawn(names[i], produce, SpawnOptions{})
			if err != nil {
				b.Fatal(err)
			}
			refs[i] = r
		}
		last := refs[n-1]
		if _, err := Ask(b.Context(), last, func(c chan<- int) any { c <- 1; return nil }); err != nil {
			b.Fatal(err)
		}
		for s.workers.busy() > 0 {
			runtime.Gosched()
		}
		after, grsAfter := heap()
		b.ReportMetric(float64(after-before)/n+8, "B/actor")
		b.ReportMetric(float64(max(0, grsAfter-grs-s.workers.max))/n, "goroutines/actor")
		start := time.Now()
		if err := s.Stop(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(start).Nanoseconds())/n, "ns/stop")
		runtime.KeepAlive(refs)
		b.ReportMetric(protoIdle(names), "B/proto-actor")
	}
}

// protoIdle returns the bytes that an idle actor of protoactor takes.
func protoIdle(names []string) float64 {
	sys := quietProtoactor()
	props := actor.PropsFromFunc(func(actor.Context) {})
	before, _ := heap()
	for _, name := range names {
		_, _ = sys.Root.SpawnNamed(props, name)
	}
	for {
		after, grs := heap()
		if grs < len(names)/100 {
			runtime.KeepAlive(sys)
			return float64(after-before) / float64(len(names))
		}
	}
}

func heap() (int64, int) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc), runtime.NumGoroutine()
}

func (w *workers) busy() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.live - len(w.idle)
}

func BenchmarkNew(b *testing.B) {
	b.Run("Returns", func(b *testing.B) {
		var all []*System
		for range b.N {
			all = append(all, New(Options{}))
		}
		b.StopTimer()
		for _, s := range all {
			stopSystem(b, s)
		}
	})
	b.Run("Stopped", func(b *testing.B) {
		for range b.N {
			stopSystem(b, New(Options{}))
		}
	})
	b.Run("Protoactor", func(b *testing.B) {
		for range b.N {
			newEngine()
		}
	})
}
