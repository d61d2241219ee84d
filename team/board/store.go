package board

import (
	"context"
	"errors"
	"sync"
)

// ErrConflict is the error of a Put whose revision is not the present one.
var ErrConflict = errors.New("board: the entry has changed")

// Entry is one value of a Store. A Revision of 0 means that there is none.
type Entry struct {
	Key      string
	Value    []byte
	Revision uint64
}

// Store keeps the entries of one board; the conformance suite is
// boardtest.Store. Its methods may be called from any goroutine.
type Store interface {
	// Get returns an entry, or one with Revision 0.
	Get(ctx context.Context, key string) (Entry, error)
	// Put writes an entry if its revision is still the given one, 0 for an entry that must
	// not exist yet, and returns the new revision, which is larger. Otherwise the error is
	// ErrConflict.
	Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	// Watch calls see with every existing entry and then with every change, those of each
	// key in order, until ctx ends. It may leave out a value that is overwritten before it
	// was seen, never the newest. It returns once see has had all entries that existed when
	// it was called; done is closed when see is no longer called.
	Watch(ctx context.Context, see func(Entry)) (done <-chan struct{}, err error)
}

// Memory is a Store inside the process. The zero value is empty and ready.
type Memory struct {
	mu       sync.Mutex
	entries  map[string]Entry        // guarded by mu
	revision uint64                  // guarded by mu
	watchers map[*memoryWatcher]bool // guarded by mu
}

type memoryWatcher struct{ see func(Entry) }

// Get implements Store.
func (m *Memory) Get(_ context.Context, key string) (Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[key]
	e.Key = key
	return e, nil
}

// Put implements Store.
func (m *Memory) Put(_ context.Context, key string, value []byte, revision uint64) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries[key].Revision != revision {
		return 0, ErrConflict
	}
	if m.entries == nil {
		m.entries = map[string]Entry{}
	}
	m.revision++
	e := Entry{Key: key, Value: append([]byte(nil), value...), Revision: m.revision}
	m.entries[key] = e
	for w := range m.watchers {
		w.see(e)
	}
	return e.Revision, nil
}

// Watch implements Store. see is called under the store's lock and must not call
// the store.
func (m *Memory) Watch(ctx context.Context, see func(Entry)) (<-chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.watchers == nil {
		m.watchers = map[*memoryWatcher]bool{}
	}
	for _, e := range m.entries {
		see(e)
	}
	w, done := &memoryWatcher{see}, make(chan struct{})
	m.watchers[w] = true
	context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.watchers, w)
		close(done)
	})
	return done, nil
}
