// Package slot bounds how many turns run at the same time.
//
//	s := slot.New(free) // one for each turn; free is shared by all
//	defer s.Release()
//	if err := s.Acquire(ctx); err != nil {
//		return err
//	}
//	s.Yield() // while the turn waits for a child, which may need the slot
//	wait()
//	if s.Done() {
//		return s.Acquire(ctx)
//	}
//
// Laws:
//
//   - A turn has at most one slot, however many of its calls wait and return
//     (TestATurnHasOneSlotHoweverManyCallsComeBack).
//   - A turn that waits for a child has no slot
//     (TestAParentThatWaitsForItsChildHoldsNoSlotWhileAnotherCallComesBack).
//   - Calls that return together do not wait for each other
//     (TestCallsThatComeBackTogetherDoNotWaitForEachOther).
package slot

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Slot is one turn's claim to run. The turn has it at most once and yields it while it
// waits for children or a person, in whichever order its parallel calls wait.
type Slot struct {
	free *semaphore.Weighted

	queue sync.Mutex // one call of the turn queues at a time: two would wait for each other

	mu      sync.Mutex
	held    bool // guarded by mu
	waiting int  // calls of the turn that wait; guarded by mu
}

// New returns a turn's claim to one of the free slots.
func New(free *semaphore.Weighted) *Slot { return &Slot{free: free} }

// TryAcquire is Acquire that does not wait. It reports whether Acquire would not wait
// either.
func (s *Slot) TryAcquire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held || s.waiting > 0 {
		return true
	}
	s.held = s.free.TryAcquire(1)
	return s.held
}

// Acquire waits for a slot, unless the turn has one or has yielded it. ctx, which must be
// the turn's, ends the wait.
func (s *Slot) Acquire(ctx context.Context) error {
	s.queue.Lock()
	defer s.queue.Unlock()
	if s.TryAcquire() {
		return nil
	}
	if err := s.free.Acquire(ctx, 1); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = s.waiting == 0
	if !s.held {
		s.free.Release(1)
	}
	return nil
}

// Yield releases the slot while a call of the turn waits, until Done.
func (s *Slot) Yield() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting++
	s.put()
}

// Done ends the wait of a call. last reports whether no other call waits.
func (s *Slot) Done() (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting--
	return s.waiting == 0
}

// Release ends the turn's claim, also after a panic that left a call waiting.
func (s *Slot) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = 0
	s.put()
}

// put releases the slot if the turn has it. mu is held.
func (s *Slot) put() {
	if s.held {
		s.held = false
		s.free.Release(1)
	}
}
