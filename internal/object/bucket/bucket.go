package bucket

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/actorswarm/swarm/internal/retry"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// MaxBytes is the size limit of a bucket.
const MaxBytes = 128 << 20

// Options adjust a bucket.
type Options struct {
	Replicas int // in a cluster; 0 is 1
}

// Bucket is a JetStream object store, which the first object creates. Its methods may be
// called from any goroutine.
type Bucket struct {
	js   jetstream.JetStream
	name string
	o    Options

	mu    sync.Mutex
	store jetstream.ObjectStore // guarded by mu; nil until it is opened
}

// New returns the bucket with that name.
func New(nc *nats.Conn, name string, o Options) (*Bucket, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("bucket: reach JetStream: %w", err)
	}
	return &Bucket{js: js, name: name, o: o}, nil
}

// open opens the bucket; with create it makes a missing one.
func (b *Bucket) open(ctx context.Context, create bool) (_ jetstream.ObjectStore, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.store != nil {
		return b.store, nil
	}
	if !create {
		b.store, err = b.js.ObjectStore(ctx, b.name)
		return b.store, err
	}
	b.store, err = b.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
		Bucket: b.name, Description: "long messages of a session", MaxBytes: MaxBytes, Replicas: max(b.o.Replicas, 1),
	})
	return b.store, err
}

// forget drops the store after an error that may mean that the bucket was deleted, so that
// it is made again.
func (b *Bucket) forget(err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.store = nil
	return err
}

// Put stores an object if it is missing, and returns when the server has stored it. It
// repeats requests that a cluster cannot answer, as package retry describes.
func (b *Bucket) Put(ctx context.Context, ref mailbox.Ref, body func() ([]byte, error)) error {
	return retry.Do(ctx, func(ctx context.Context) error { return b.put(ctx, ref, body) })
}

func (b *Bucket) put(ctx context.Context, ref mailbox.Ref, body func() ([]byte, error)) error {
	store, err := b.open(ctx, true)
	if err != nil {
		return fmt.Errorf("bucket: make %s: %w", b.name, err)
	}
	info, err := store.GetInfo(ctx, ref.Hash())
	switch {
	case err == nil && info.Digest == digest(ref) && info.Size == uint64(ref.Size()):
		return nil
	case err != nil && !errors.Is(err, jetstream.ErrObjectNotFound):
		return fmt.Errorf("bucket: find an object in %s: %w", b.name, b.forget(err))
	}
	raw, err := body()
	if err != nil {
		return err
	}
	if _, err := store.PutBytes(ctx, ref.Hash(), raw); err != nil {
		return fmt.Errorf("bucket: put an object of %d bytes into %s: %w", len(raw), b.name, b.forget(err))
	}
	return nil
}

// digest returns the hash of an object in the form of JetStream.
func digest(ref mailbox.Ref) string {
	sum, err := hex.DecodeString(ref.Hash())
	if err != nil || len(sum) != sha256.Size {
		return ""
	}
	return "SHA-256=" + base64.URLEncoding.EncodeToString(sum)
}

// MismatchError reports an object that does not match its name.
type MismatchError struct{ Bucket, Name string }

func (e *MismatchError) Error() string {
	return fmt.Sprintf("bucket: the object %s in %s does not contain the text that it is named after", e.Name, e.Bucket)
}

// Get returns the bytes of an object. The error wraps fs.ErrNotExist if there is none, and
// is a *MismatchError if the bytes do not match. It repeats requests as Put does.
func (b *Bucket) Get(ctx context.Context, ref mailbox.Ref) (raw []byte, err error) {
	err = retry.Do(ctx, func(ctx context.Context) error {
		raw, err = b.get(ctx, ref)
		return err
	})
	return raw, err
}

func (b *Bucket) get(ctx context.Context, ref mailbox.Ref) ([]byte, error) {
	store, err := b.open(ctx, false)
	var raw []byte
	if err == nil {
		raw, err = store.GetBytes(ctx, ref.Hash())
	}
	switch {
	case errors.Is(err, jetstream.ErrDigestMismatch), err == nil && !ref.Matches(raw):
		return nil, &MismatchError{Bucket: b.name, Name: ref.Hash()}
	case errors.Is(err, jetstream.ErrObjectNotFound), errors.Is(err, jetstream.ErrBucketNotFound):
		return nil, fmt.Errorf("bucket: %s holds no object %s: %w", b.name, ref.Hash(), errors.Join(fs.ErrNotExist, b.forget(err)))
	case err != nil:
		return nil, fmt.Errorf("bucket: get an object of %s: %w", b.name, b.forget(err))
	}
	return raw, nil
}

// Sweep removes the objects that are older than grace and for whose hash needed returns
// false.
func (b *Bucket) Sweep(ctx context.Context, needed func(hash string) bool, grace time.Duration) error {
	store, err := b.open(ctx, false)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil
	}
	var all []*jetstream.ObjectInfo
	if err == nil {
		all, err = store.List(ctx)
	}
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("bucket: list the objects of %s: %w", b.name, b.forget(err))
	}
	var errs []error
	for _, o := range all {
		if !needed(o.Name) && time.Since(o.ModTime) >= grace {
			errs = append(errs, store.Delete(ctx, o.Name))
		}
	}
	return errors.Join(errs...)
}
