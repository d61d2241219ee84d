// Package boardtest holds the suite that every board.Store passes.
//
//	boardtest.Store(t, func(t *testing.T) board.Store { return &board.Memory{} })
package boardtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/actorswarm/swarm/team/board"
)

// Store checks a kind of store; open returns an empty one and may be called
// several times.
func Store(t *testing.T, open func(*testing.T) board.Store) {
	t.Run("a put needs the present revision", func(t *testing.T) { putNeedsRevision(t, open(t)) })
	t.Run("of many puts on one revision one is done", func(t *testing.T) { oneWins(t, open(t)) })
	t.Run("a watch sees what was there and what comes", func(t *testing.T) { watchSees(t, open(t)) })
}

func putNeedsRevision(t *testing.T, s board.Store) {
	ctx := t.Context()
	if e, err := s.Get(ctx, "a"); err != nil || e.Revision != 0 {
		t.Fatalf("an entry that is not there: %+v, %v", e, err)
	}
	first, err := s.Put(ctx, "a", []byte("1"), 0)
	if err != nil || first == 0 {
		t.Fatalf("put: %d, %v", first, err)
	}
	if _, err := s.Put(ctx, "a", []byte("x"), 0); !errors.Is(err, board.ErrConflict) {
		t.Errorf("a second creation: %v", err)
	}
	second, err := s.Put(ctx, "a", []byte("2"), first)
	if err != nil || second <= first {
		t.Fatalf("put on %d: %d, %v", first, second, err)
	}
	if _, err := s.Put(ctx, "a", []byte("x"), first); !errors.Is(err, board.ErrConflict) {
		t.Errorf("a put on an old revision: %v", err)
	}
	if e, err := s.Get(ctx, "a"); err != nil || string(e.Value) != "2" || e.Revision != second {
		t.Errorf("got %+v, %v", e, err)
	}
}

func oneWins(t *testing.T, s board.Store) {
	rev, err := s.Put(t.Context(), "a", []byte("0"), 0)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	won := make(chan int, 16)
	for i := range 16 {
		group.Go(func() {
			_, err := s.Put(t.Context(), "a", fmt.Append(nil, i), rev)
			switch {
			case err == nil:
				won <- i
			case !errors.Is(err, board.ErrConflict):
				t.Error(err)
			}
		})
	}
	group.Wait()
	if len(won) != 1 {
		t.Errorf("%d puts on one revision were done", len(won))
	}
}

func watchSees(t *testing.T, s board.Store) {
	if _, err := s.Put(t.Context(), "old", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	seen := make(chan string, 100)
	done, err := s.Watch(ctx, func(e board.Entry) { seen <- e.Key + "=" + string(e.Value) })
	if err != nil {
		t.Fatal(err)
	}
	if got := <-seen; got != "old=1" {
		t.Fatalf("first seen is %s", got)
	}
	var rev uint64
	for i := range 5 {
		if rev, err = s.Put(t.Context(), "new", fmt.Append(nil, i), rev); err != nil {
			t.Fatal(err)
		}
	}
	for last := ""; last != "new=4"; {
		select {
		case got := <-seen:
			if got <= last {
				t.Fatalf("saw %s after %s", got, last)
			}
			last = got
		case <-ctx.Done():
			t.Fatalf("the newest change was not seen, only %s", last)
		}
	}
	stop()
	<-done
}
