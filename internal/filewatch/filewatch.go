// Package filewatch notices that files have changed, by looking at them at intervals.
//
//	w := filewatch.New(filewatch.Options{Paths: paths, Changed: changed})
//	go w.Run(ctx)
//
// Laws:
//
//   - What is there at the first look, of a path that was not looked at before, is no change
//     (TestTheFirstLookIsNoChange).
//   - A file that is made, written or removed is reported once
//     (TestChangesAreReportedOnce).
package filewatch

import (
	"context"
	"os"
	"time"
)

// What has happened to a file.
const (
	Added   = "add"
	Changed = "change"
	Removed = "unlink"
)

// Options configure New. Paths and Changed are required.
type Options struct {
	// Paths returns the files to look at; it is called for each look.
	Paths func() []string
	// Changed is called for each change, one after the other.
	Changed func(ctx context.Context, path, what string)
	Every   time.Duration // between two looks; 0 is a second
}

// Watcher looks at files.
type Watcher struct {
	o     Options
	known map[string]state
}

// state is what changes with a file; it is zero for one that is not there.
type state struct {
	size     int64
	modified time.Time
}

// New returns a watcher. It looks for the first time when Run is called.
func New(o Options) *Watcher {
	if o.Every == 0 {
		o.Every = time.Second
	}
	return &Watcher{o: o, known: map[string]state{}}
}

// Run looks until ctx ends.
func (w *Watcher) Run(ctx context.Context) {
	tick := time.NewTicker(w.o.Every)
	defer tick.Stop()
	for ctx.Err() == nil {
		w.look(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// look compares all files with what is known of them.
func (w *Watcher) look(ctx context.Context) {
	for _, path := range w.o.Paths() {
		now := stateOf(path)
		before, seen := w.known[path]
		w.known[path] = now
		switch {
		case !seen || now == before:
		case before == state{}:
			w.o.Changed(ctx, path, Added)
		case now == state{}:
			w.o.Changed(ctx, path, Removed)
		default:
			w.o.Changed(ctx, path, Changed)
		}
	}
}

func stateOf(path string) state {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return state{}
	}
	return state{info.Size(), info.ModTime()}
}
