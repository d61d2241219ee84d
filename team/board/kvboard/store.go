// Package kvboard keeps the entries of a task board in a JetStream key-value bucket, so
// that the processes of a session share one board and any NATS client can read it.
//
//	store, err := kvboard.Open(ctx, nc, "TB_"+session, kvboard.Options{})
//	tasks, err := board.Open(ctx, store, board.Options{})
//
// Law:
//
//   - It is a board.Store: it passes boardtest.Store (TestStoreConforms), also
//     while a cluster has no leader (TestAPutOutlivesALeader).
package kvboard

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/actorswarm/swarm/internal/retry"
	"github.com/actorswarm/swarm/team/board"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Store is one bucket. Its methods may be called from any goroutine.
type Store struct{ kv jetstream.KeyValue }

// Options adjust a bucket.
type Options struct {
	Replicas int // in a cluster; 0 is 1
}

// Open returns the bucket of that name, which is made if there is none.
func Open(ctx context.Context, nc *nats.Conn, bucket string, o Options) (*Store, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("kvboard: reach JetStream: %w", err)
	}
	var kv jetstream.KeyValue
	err = retry.Do(ctx, func(ctx context.Context) (err error) {
		kv, err = js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: bucket, Description: "the task list of a team", History: 1, Replicas: max(o.Replicas, 1),
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("kvboard: open the bucket %s: %w", bucket, err)
	}
	return &Store{kv}, nil
}

// Get implements board.Store.
func (s *Store) Get(ctx context.Context, key string) (board.Entry, error) {
	var e jetstream.KeyValueEntry
	err := retry.Do(ctx, func(ctx context.Context) (err error) {
		e, err = s.kv.Get(ctx, key)
		return err
	})
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return board.Entry{Key: key}, nil
	case err != nil:
		return board.Entry{}, fmt.Errorf("kvboard: read %s: %w", key, err)
	}
	return board.Entry{Key: key, Value: e.Value(), Revision: e.Revision()}, nil
}

// Put implements board.Store.
func (s *Store) Put(ctx context.Context, key string, value []byte, revision uint64) (next uint64, err error) {
	unsure := false // whether a put that nobody has answered was done
	err = retry.Do(ctx, func(ctx context.Context) error {
		next, err = s.put(ctx, key, value, revision)
		if unsure && conflicts(err) {
			next, err = s.done(ctx, key, value)
		}
		unsure = unsure || retry.Unanswered(err)
		return err
	})
	switch {
	case conflicts(err):
		return 0, board.ErrConflict
	case err != nil:
		return 0, fmt.Errorf("kvboard: write %s: %w", key, err)
	}
	return next, nil
}

func (s *Store) put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if revision == 0 {
		return s.kv.Create(ctx, key, value)
	}
	return s.kv.Update(ctx, key, value, revision)
}

// done returns the revision of a put whose answer was lost, or that of another's
// is a conflict.
func (s *Store) done(ctx context.Context, key string, value []byte) (uint64, error) {
	e, err := s.kv.Get(ctx, key)
	switch {
	case err != nil:
		return 0, err
	case !bytes.Equal(e.Value(), value):
		return 0, jetstream.ErrKeyExists
	}
	return e.Revision(), nil
}

// conflicts knows both codes that a server has for it: streams with replicas have
// one of their own.
func conflicts(err error) bool {
	return errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch)
}

// Watch implements board.Store.
func (s *Store) Watch(ctx context.Context, see func(board.Entry)) (<-chan struct{}, error) {
	w, err := s.kv.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return nil, fmt.Errorf("kvboard: watch %s: %w", s.kv.Bucket(), err)
	}
	ready, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		follow(ctx, w, see, ready)
	}()
	select {
	case <-ready:
		return done, nil
	case <-done:
		return nil, fmt.Errorf("kvboard: the watch of %s ended before it had begun: %w", s.kv.Bucket(), context.Cause(ctx))
	}
}

// follow passes on what the watcher brings; a nil entry ends what was there.
func follow(ctx context.Context, w jetstream.KeyWatcher, see func(board.Entry), ready chan<- struct{}) {
	for {
		select {
		case e, ok := <-w.Updates():
			switch {
			case !ok:
				return
			case e == nil:
				close(ready)
			default:
				see(board.Entry{Key: e.Key(), Value: e.Value(), Revision: e.Revision()})
			}
		case <-ctx.Done():
			return
		}
	}
}
