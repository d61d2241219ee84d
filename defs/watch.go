package defs

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// WatchOptions configure a Watcher. The zero value checks every second.
type WatchOptions struct {
	// Every is the time between checks; 0 is a second.
	Every time.Duration
	// Changed is called with the set before and after each change. It runs in
	// the watcher's goroutine and must not call Stop.
	Changed func(before, after *Set)
	// Failed is called when a change cannot be read, such as that of a broken --agents
	// file; the last set remains in use. It is called once for a repeated error.
	Failed func(error)
}

// Watcher keeps a set up to date with the files it was read from. New, edited and deleted
// files appear within Every, plus the time of reading them. It compares times and sizes
// only, so that it also notices changes over a network and in new directories.
type Watcher struct {
	o      WatchOptions
	loader *Loader
	set    atomic.Pointer[Set]

	mu      sync.Mutex
	stopped bool               // guarded by mu
	cancel  context.CancelFunc // guarded by mu; nil before Start
	running sync.WaitGroup
}

// Watch loads the definitions. Start begins to watch them.
func Watch(o Options, w WatchOptions) (*Watcher, error) {
	if w.Every <= 0 {
		w.Every = time.Second
	}
	out := &Watcher{o: w, loader: NewLoader(o)}
	set, err := out.loader.Load()
	if err != nil {
		return nil, err
	}
	out.set.Store(set)
	return out, nil
}

// Set returns the definitions as they are now. It may be called from any
// goroutine, before Start and after Stop.
func (w *Watcher) Set() *Set { return w.set.Load() }

// Start follows the files until ctx ends or Stop is called. A second Start, and
// one after Stop, do nothing.
func (w *Watcher) Start(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped || w.cancel != nil {
		return
	}
	ctx, w.cancel = context.WithCancel(ctx)
	w.running.Go(func() { w.follow(ctx) })
}

// Stop ends the watcher and returns when its goroutine has ended. It may be
// called more than once, and before Start.
func (w *Watcher) Stop() {
	w.mu.Lock()
	w.stopped = true
	if w.cancel != nil {
		w.cancel()
	}
	w.mu.Unlock()
	w.running.Wait()
}

func (w *Watcher) follow(ctx context.Context) {
	tick := time.NewTicker(w.o.Every)
	defer tick.Stop()
	last := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			last = w.poll(last)
		}
	}
}

// poll reads what has changed and returns the text of its errors.
func (w *Watcher) poll(last string) string {
	before := w.set.Load()
	after, err := w.loader.Refresh()
	if err != nil {
		if w.o.Failed != nil && err.Error() != last {
			w.o.Failed(err)
		}
		return err.Error()
	}
	if after != before {
		w.set.Store(after)
		if w.o.Changed != nil {
			w.o.Changed(before, after)
		}
	}
	return ""
}
