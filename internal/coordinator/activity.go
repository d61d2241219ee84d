package coordinator

import (
	"sync"
	"sync/atomic"
)

// activity counts the work of a session's agents, and lets others wait until it
// changes.
type activity struct {
	turns    sync.WaitGroup // goroutines of turns; started through work
	moves    atomic.Uint64  // hosts started and turns ended so far
	changing atomic.Int32   // agents that are being woken by mail or parked

	mu      sync.Mutex
	closed  bool          // guarded by mu
	changed chan struct{} // closed and replaced when an agent may have gone quiet; guarded by mu
}

func newActivity() *activity { return &activity{changed: make(chan struct{})} }

// close refuses further work.
func (a *activity) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
}

// work runs f in a goroutine that Shutdown waits for. It reports false, and does
// nothing, once Shutdown has begun.
func (a *activity) work(f func()) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	a.turns.Go(f)
	return true
}

// change is work that no host does. Until it is done, the swarm is not quiet.
func (a *activity) change(f func()) {
	a.changing.Add(1)
	started := a.work(func() {
		defer a.Notify()
		defer a.changing.Add(-1)
		f()
	})
	if !started {
		a.changing.Add(-1)
	}
}

func (a *activity) isClosed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.closed
}

// whenChanged returns a channel that is closed at the next Notify.
func (a *activity) whenChanged() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.changed
}

// Notify wakes the goroutines that wait for a change, so that they check again.
func (a *activity) Notify() {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.changed)
	a.changed = make(chan struct{})
}
