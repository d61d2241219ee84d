package event

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// read returns the texts of everything that a subscription still has, deltas apart.
func read(t *testing.T, s *Subscription) (warnings, deltas []string) {
	t.Helper()
	for last := uint64(0); ; {
		e, err := s.Next(t.Context())
		if errors.Is(err, ErrClosed) {
			return warnings, deltas
		}
		if err != nil || e.Seq <= last {
			t.Fatalf("fact %d after %d: %v", e.Seq, last, err)
		}
		last = e.Seq
		switch f := e.Fact.(type) {
		case Warning:
			warnings = append(warnings, f.Text)
		case Delta:
			deltas = append(deltas, f.Text)
		}
	}
}

// TestEverySubscriberSeesOneOrder publishes from several goroutines at once.
func TestEverySubscriberSeesOneOrder(t *testing.T) {
	var b Bus
	one, two := b.Subscribe(), b.Subscribe()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 100 {
				b.Publish(Agent{}, Warning{Text: fmt.Sprint(i, "-", j)})
			}
		})
	}
	all.Wait()
	b.Close()
	seen, _ := read(t, one)
	if again, _ := read(t, two); len(seen) != 800 || !slices.Equal(seen, again) {
		t.Errorf("%d and %d facts, in the same order: %v", len(seen), len(again), slices.Equal(seen, again))
	}
}

// TestOnlyDeltasAreDroppedForWhoIsBehind has one reader that reads nothing until
// the end: Publish has not waited for it, and it has missed deltas and nothing else.
func TestOnlyDeltasAreDroppedForWhoIsBehind(t *testing.T) {
	var b Bus
	slow, quick := b.Subscribe(), b.Subscribe()
	const n = 4 * lossyAbove
	for i := range n {
		b.Publish(Agent{}, Warning{Text: strconv.Itoa(i)})
		b.Publish(Agent{}, Delta{Text: strconv.Itoa(i)})
		for range 2 {
			if _, err := quick.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.Close()
	warnings, deltas := read(t, slow)
	if len(warnings) != n || len(deltas)+slow.Missed() != n || slow.Missed() == 0 {
		t.Errorf("of %d each: %d warnings, %d deltas and %d missed", n, len(warnings), len(deltas), slow.Missed())
	}
	if quick.Missed() != 0 {
		t.Errorf("who keeps reading missed %d", quick.Missed())
	}
}

func TestASubscriptionEndsForGood(t *testing.T) {
	var b Bus
	s := b.Subscribe()
	s.Close()
	b.Publish(Agent{}, Warning{})
	if b.HasSubscribers() {
		t.Error("a closed subscription is still watched by")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	open := b.Subscribe()
	if _, err := open.Next(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("next answers %v", err)
	}
	b.Close()
	for _, s := range []*Subscription{s, open, b.Subscribe()} {
		for range 2 {
			if _, err := s.Next(t.Context()); !errors.Is(err, ErrClosed) {
				t.Errorf("next answers %v", err)
			}
		}
	}
}
