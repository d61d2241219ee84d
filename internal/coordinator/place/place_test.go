package place

import (
	"testing"
	"testing/synctest"

	"golang.org/x/sync/semaphore"
)

func placeOf(n int64) (*semaphore.Weighted, *Place) {
	free := semaphore.NewWeighted(n)
	return free, New(free)
}

func isFree(t *testing.T, free *semaphore.Weighted, n int64) {
	t.Helper()
	if !free.TryAcquire(n) {
		t.Fatalf("%d places are not free", n)
	}
	free.Release(n)
}

// A call that comes back takes the place again only if no other call waits.
func TestAParentThatWaitsForItsChildHoldsNoPlaceWhileAnotherCallComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free, p := placeOf(1)
		if !p.Try() {
			t.Fatal("no place")
		}
		p.Lend() // the first call waits
		if !free.TryAcquire(1) {
			t.Fatal("the parent held on")
		}
		if !p.Done() {
			t.Fatal("not the last")
		}
		back := make(chan error, 1)
		go func() { back <- p.Enter(t.Context()) }() // queues: its child's sibling has the place
		synctest.Wait()
		p.Lend() // the second call begins to wait meanwhile
		free.Release(1)
		if err := <-back; err != nil {
			t.Fatal(err)
		}
		isFree(t, free, 1)
		if !p.Done() {
			t.Fatal("not the last")
		}
		if err := p.Enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.Leave()
		isFree(t, free, 1)
	})
}

func TestATurnHasOnePlaceHoweverManyCallsComeBack(t *testing.T) {
	free, p := placeOf(3)
	for range 3 {
		if !p.Try() {
			t.Fatal("no place")
		}
	}
	isFree(t, free, 2)
	p.Leave()
	p.Leave()
	isFree(t, free, 3)
}

// Two calls that come back one after the other must not queue for two places.
func TestCallsThatComeBackTogetherDoNotWaitForEachOther(t *testing.T) {
	free, p := placeOf(1)
	if !free.TryAcquire(1) {
		t.Fatal("no place")
	}
	back := make(chan error, 2)
	for range 2 {
		go func() { back <- p.Enter(t.Context()) }()
	}
	free.Release(1)
	for range 2 {
		if err := <-back; err != nil {
			t.Fatal(err)
		}
	}
	p.Leave()
	isFree(t, free, 1)
}
