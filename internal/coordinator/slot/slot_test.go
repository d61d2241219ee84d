package slot

import (
	"testing"
	"testing/synctest"

	"golang.org/x/sync/semaphore"
)

func slotOf(n int64) (*semaphore.Weighted, *Slot) {
	free := semaphore.NewWeighted(n)
	return free, New(free)
}

func isFree(t *testing.T, free *semaphore.Weighted, n int64) {
	t.Helper()
	if !free.TryAcquire(n) {
		t.Fatalf("%d slots are not free", n)
	}
	free.Release(n)
}

// A call that comes back takes the slot again only if no other call waits.
func TestAParentThatWaitsForItsChildHoldsNoSlotWhileAnotherCallComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free, p := slotOf(1)
		if !p.TryAcquire() {
			t.Fatal("no slot")
		}
		p.Yield() // the first call waits
		if !free.TryAcquire(1) {
			t.Fatal("the parent held on")
		}
		if !p.Done() {
			t.Fatal("not the last")
		}
		back := make(chan error, 1)
		go func() { back <- p.Acquire(t.Context()) }() // queues: its child's sibling has the slot
		synctest.Wait()
		p.Yield() // the second call begins to wait meanwhile
		free.Release(1)
		if err := <-back; err != nil {
			t.Fatal(err)
		}
		isFree(t, free, 1)
		if !p.Done() {
			t.Fatal("not the last")
		}
		if err := p.Acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.Release()
		isFree(t, free, 1)
	})
}

func TestATurnHasOneSlotHoweverManyCallsComeBack(t *testing.T) {
	free, p := slotOf(3)
	for range 3 {
		if !p.TryAcquire() {
			t.Fatal("no slot")
		}
	}
	isFree(t, free, 2)
	p.Release()
	p.Release()
	isFree(t, free, 3)
}

// Two calls that come back one after the other must not queue for two slots.
func TestCallsThatComeBackTogetherDoNotWaitForEachOther(t *testing.T) {
	free, p := slotOf(1)
	if !free.TryAcquire(1) {
		t.Fatal("no slot")
	}
	back := make(chan error, 2)
	for range 2 {
		go func() { back <- p.Acquire(t.Context()) }()
	}
	free.Release(1)
	for range 2 {
		if err := <-back; err != nil {
			t.Fatal(err)
		}
	}
	p.Release()
	isFree(t, free, 1)
}
