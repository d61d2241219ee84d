package object

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/actorswarm/swarm/mailbox"
)

// MaxSize is the largest object, in bytes.
const MaxSize = 16 << 20

// Store is a directory of objects.
type Store struct{ dir string }

// New returns the store in dir, which is made with the first object.
func New(dir string) *Store { return &Store{dir: dir} }

// Path returns the file of an object.
func (s *Store) Path(ref mailbox.Ref) string { return filepath.Join(s.dir, ref.Hash()) }

// Put keeps a body and returns its name once it is on disk. One that is larger
// than MaxSize is a *mailbox.TooLargeError. Until Keep says that something refers to
// it, it is among Loose.
func (s *Store) Put(body []byte) (mailbox.Ref, error) {
	if len(body) > MaxSize {
		return "", &mailbox.TooLargeError{What: "body", Size: len(body), Limit: MaxSize}
	}
	ref := mailbox.RefOf(body)
	if _, err := s.Get(ref); err == nil {
		return ref, s.sync() // whoever put it may not have come that far
	}
	if err := s.write(ref, body); err != nil {
		return "", fmt.Errorf("keep a text of %d bytes in %s: %w", len(body), s.dir, err)
	}
	return ref, nil
}

func (s *Store) write(ref mailbox.Ref, body []byte) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(s.Path(ref)+loose, nil, 0o600); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.dir, ".new-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), s.Path(ref))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return s.sync()
}

// sync makes the names in the directory durable.
func (s *Store) sync() error {
	d, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// DamagedError reports an object whose bytes are not those of its name.
type DamagedError struct{ Path string }

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s does not hold the text that it is named after; ask its sender to write again", e.Path)
}

// Get returns the bytes of an object. The error wraps fs.ErrNotExist when there
// is none, and is a *DamagedError when others are in its place.
func (s *Store) Get(ref mailbox.Ref) ([]byte, error) {
	if ref == "" || !ref.Valid() {
		return nil, fmt.Errorf("%.80q names no object: %w", ref, fs.ErrNotExist)
	}
	body, err := os.ReadFile(s.Path(ref))
	if err != nil {
		return nil, fmt.Errorf("read the text of a message: %w", err)
	}
	if !ref.Names(body) {
		return nil, &DamagedError{Path: s.Path(ref)}
	}
	return body, nil
}

// loose ends the name of the mark beside an object to which nothing refers yet. A
// mark that is lost with the power only leaves a file too many.
const loose = ".loose"

// Keep says that something on disk refers to an object.
func (s *Store) Keep(ref mailbox.Ref) error {
	err := os.Remove(s.Path(ref) + loose)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Loose returns the hashes of the objects that were put and never kept.
func (s *Store) Loose() ([]string, error) {
	marks, err := filepath.Glob(filepath.Join(s.dir, "*"+loose))
	for i, m := range marks {
		marks[i] = strings.TrimSuffix(filepath.Base(m), loose)
	}
	return marks, err
}

// Settle ends the looseness of an object: it is kept if something refers to it, and
// removed otherwise.
func (s *Store) Settle(hash string, referred bool) error {
	path := filepath.Join(s.dir, hash)
	if !referred {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Remove(path + loose)
}

// Has reports whether a file of that name and size is here.
func (s *Store) Has(ref mailbox.Ref) bool {
	info, err := os.Stat(s.Path(ref))
	return err == nil && info.Size() == ref.Size()
}
