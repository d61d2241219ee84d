// Package place bounds how many turns run at the same time.
//
//	p := place.New(free) // one for each turn; free is shared by all
//	defer p.Leave()
//	if err := p.Enter(ctx); err != nil {
//		return err
//	}
//	p.Lend() // while the turn waits for a child, which may need the place
//	wait()
//	if p.Done() {
//		return p.Enter(ctx)
//	}
//
// Package place bounds how many turns run at the same time.
//
//	p := place.New(free) // one for each turn; free is shared by all
//	defer p.Leave()
//	if err := p.Enter(ctx); err != nil {
//		return err
//	}
//	p.Lend() // while the turn waits for a child, which may need the place
//	wait()
//	if p.Done() {
//		return p.Enter(ctx)
//	}
package place

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Place is one turn's place among the running, which it has at most once and
// gives back while it waits for children or a person, however its parallel calls interleave.
type Place struct {
	free *semaphore.Weighted

	queue sync.Mutex // one call of the turn queues at a time: two would wait for each other

	mu      sync.Mutex
	held    bool // guarded by mu
	waiting int  // calls of the turn that wait; guarded by mu
}

// Try is enter that does not wait. It reports whether nothing is left to wait for.
func (p *Place) Try() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held || p.waiting > 0 {
		return true
	}
	p.held = p.free.TryAcquire(1)
	return p.held
}

// Enter waits for a place, unless the turn has one or a child is waited for,
// which may need it. ctx, which must be the turn's, ends the wait.
func (p *Place) Enter(ctx context.Context) error {
	p.queue.Lock()
	defer p.queue.Unlock()
	if p.Try() {
		return nil
	}
	if err := p.free.Acquire(ctx, 1); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = p.waiting == 0
	if !p.held {
		p.free.Release(1)
	}
	return nil
}

// Lend gives the place back until done; last says that no other call waits.
func (p *Place) Lend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting++
	p.release()
}

func (p *Place) Done() (last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting--
	return p.waiting == 0
}

// Leave ends the turn's claim, also after a panic that left a call waiting.
func (p *Place) Leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = 0
	p.release()
}

// release is leave's and lend's. mu is held.
func (p *Place) release() {
	if p.held {
		p.held = false
		p.free.Release(1)
	}
}

// New returns a turn's claim to one of the places that are free.
func New(free *semaphore.Weighted) *Place { return &Place{free: free} }
