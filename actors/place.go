package actors

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// place is one turn's place among the running, which it has at most once and
// gives back while it waits for children or a person, however its parallel calls interleave.
type place struct {
	free *semaphore.Weighted

	queue sync.Mutex // one call of the turn queues at a time: two would wait for each other

	mu      sync.Mutex
	held    bool // guarded by mu
	waiting int  // calls of the turn that wait; guarded by mu
}

// try is enter that does not wait. It reports whether nothing is left to wait for.
func (p *place) try() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held || p.waiting > 0 {
		return true
	}
	p.held = p.free.TryAcquire(1)
	return p.held
}

// enter waits for a place, unless the turn has one or a child is waited for,
// which may need it. ctx, which must be the turn's, ends the wait.
func (p *place) enter(ctx context.Context) error {
	p.queue.Lock()
	defer p.queue.Unlock()
	if p.try() {
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

// lend gives the place back until done; last says that no other call waits.
func (p *place) lend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting++
	p.release()
}

func (p *place) done() (last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting--
	return p.waiting == 0
}

// leave ends the turn's claim, also after a panic that left a call waiting.
func (p *place) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = 0
	p.release()
}

// release is leave's and lend's. mu is held.
func (p *place) release() {
	if p.held {
		p.held = false
		p.free.Release(1)
	}
}
