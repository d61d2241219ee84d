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

// New returns the store in dir, which the first object creates.
func New(dir string) *Store { return &Store{dir: dir} }

// Path returns the file of an object.
func (s *Store) Path(ref mailbox.Ref) string { return filepath.Join(s.dir, ref.Hash()) }

// Put stores a body and returns its reference once it is on disk. A body larger than
// MaxSize causes *mailbox.TooLargeError. The object is in Unreferenced until
// MarkReferenced.
func (s *Store) Put(body []byte) (mailbox.Ref, error) {
	if len(body) > MaxSize {
		return "", &mailbox.TooLargeError{What: "body", Size: len(body), Limit: MaxSize}
	}
	ref := mailbox.RefOf(body)
	if _, err := s.Get(ref); err == nil {
		return ref, s.sync() // a concurrent Put may not have synced yet
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
	if err := os.WriteFile(s.Path(ref)+unreferencedSuffix, nil, 0o600); err != nil {
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

// DamagedError reports an object whose bytes do not match its name.
type DamagedError struct{ Path string }

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s does not contain the text that it is named after; ask its sender to send it again", e.Path)
}

// Get returns the bytes of an object. The error wraps fs.ErrNotExist if there is none, and
// is a *DamagedError if the bytes do not match.
func (s *Store) Get(ref mailbox.Ref) ([]byte, error) {
	if ref == "" || !ref.Valid() {
		return nil, fmt.Errorf("%.80q is not a reference: %w", ref, fs.ErrNotExist)
	}
	body, err := os.ReadFile(s.Path(ref))
	if err != nil {
		return nil, fmt.Errorf("read the text of a message: %w", err)
	}
	if !ref.Matches(body) {
		return nil, &DamagedError{Path: s.Path(ref)}
	}
	return body, nil
}

// unreferencedSuffix ends the name of the mark beside an object without a reference. A
// power cut that loses a mark only leaves an unused file.
const unreferencedSuffix = ".loose"

// MarkReferenced records that something on disk refers to an object.
func (s *Store) MarkReferenced(ref mailbox.Ref) error {
	err := os.Remove(s.Path(ref) + unreferencedSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Unreferenced returns the hashes of the objects without MarkReferenced.
func (s *Store) Unreferenced() ([]string, error) {
	marks, err := filepath.Glob(filepath.Join(s.dir, "*"+unreferencedSuffix))
	for i, m := range marks {
		marks[i] = strings.TrimSuffix(filepath.Base(m), unreferencedSuffix)
	}
	return marks, err
}

// Resolve keeps an unreferenced object if something refers to it, and removes it otherwise.
func (s *Store) Resolve(hash string, referred bool) error {
	path := filepath.Join(s.dir, hash)
	if !referred {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Remove(path + unreferencedSuffix)
}

// Has reports whether there is a file of that name and size.
func (s *Store) Has(ref mailbox.Ref) bool {
	info, err := os.Stat(s.Path(ref))
	return err == nil && info.Size() == ref.Size()
}
