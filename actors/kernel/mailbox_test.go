package kernel

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The mailbox against three plain queues. The cell has no protoactor half, so
// that no worker takes part: the test is the worker.
func TestSystemThenControlThenOrdinaryEachInOrder(t *testing.T) {
	s := New(Options{})
	defer stopSystem(t, s)
	rapid.Check(t, func(t *rapid.T) {
		x := &cell{sys: s}
		var model [3][]any
		suspended, n := false, 0
		post := func(c class) func(*rapid.T) {
			return func(*rapid.T) {
				n++
				x.post(n, c)
				model[c] = append(model[c], n)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"system":   post(system),
			"control":  post(control),
			"ordinary": post(ordinary),
			"suspend": func(t *rapid.T) {
				suspended = rapid.Bool().Draw(t, "on")
				x.suspend(suspended)
			},
			"take": func(t *rapid.T) {
				if x.q == nil {
					t.Skip("idle")
				}
				q := x.q
				m, c, ok := x.take()
				want := slices.IndexFunc(model[:], func(q []any) bool { return len(q) > 0 })
				if want < 0 || suspended && want > 0 {
					if ok {
						t.Fatalf("took %v of class %d, want nothing", m, c)
					}
					if q.msg != nil {
						t.Fatal("an idle mailbox keeps a message alive")
					}
					return
				}
				if !ok || int(c) != want || m != model[want][0] {
					t.Fatalf("took %v of class %d, want %v of class %d", m, c, model[want][0], want)
				}
				model[want] = model[want][1:]
				q.msg = m
			},
			"drain": func(t *rapid.T) {
				if x.q == nil || len(model[0]) > 0 {
					t.Skip("the worker drains in a stop only")
				}
				if got, want := x.drain(), slices.Concat(model[1], model[2]); !slices.Equal(got, want) {
					t.Fatalf("drained %v, want %v", got, want)
				}
				if x.post(n, ordinary) {
					t.Fatal("a drained mailbox takes messages")
				}
				x, model, suspended = &cell{sys: s}, [3][]any{}, false
			},
			"": func(t *rapid.T) {
				got := x.UserMessageCount()
				if x.q != nil {
					got += x.q.cur.len()
				}
				if want := len(model[1]) + len(model[2]); got != want {
					t.Fatalf("%d messages waiting, want %d", got, want)
				}
				if got, want := int(x.urgent.Load()), len(model[0])+len(model[1]); got != want {
					t.Fatalf("urgent is %d, want %d", got, want)
				}
			},
		})
	})
}
