package kernel

import (
	"context"
	"testing"
	"time"
)

type get chan<- int

func newSystem(t testing.TB, o Options) *System {
	t.Helper()
	s := New(o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

// spawn starts an actor of one function.
func spawn(t testing.TB, s *System, name string, f func(c *Context, m any)) Ref {
	t.Helper()
	r, err := s.Spawn(name, func() Behavior { return Func(f) }, SpawnOptions{})
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

func TestMessagesOfOneSenderKeepTheirOrder(t *testing.T) {
	s := newSystem(t, Options{})
	var got []int
	r := spawn(t, s, "a@1", func(_ *Context, m any) {
		switch m := m.(type) {
		case int:
			got = append(got, m)
		case get:
			m <- len(got)
		}
	})
	for i := range 10_000 {
		r.Tell(i)
	}
	if n := count(t, r); n != 10_000 {
		t.Fatalf("received %d messages, want 10000", n)
	}
	for i, m := range got {
		if m != i {
			t.Fatalf("message %d came at place %d", m, i)
		}
	}
}
