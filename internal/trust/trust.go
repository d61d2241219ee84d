// Package trust records which directories a user trusts, and with what: the exact
// texts that files of a directory would run. It is kept in the user's own state
// directory, where no agent writes.
//
//	store := trust.Open(stateDir)
//	item := trust.Item{Dir: "/home/u/shop", Name: ".claude/settings.json hooks", Text: hooks}
//	if !store.Trusts(item) {
//		… // do not run it; name the file
//	}
//	err := store.Add("/home/u/shop", []trust.Item{item}) // the user has seen the items
//
// Laws:
//
//   - What was not added is not trusted, and a record that cannot be read trusts
//     nothing (TestNothingIsTrustedUnasked).
//   - A text that has changed is not trusted, nor the same text of another file; that
//     another text was trusted is known (TestAChangeAsksAnew).
//   - Another directory at the same path is not trusted
//     (TestAnotherDirectoryAtThePathIsNotTrusted).
//   - What replaces an item is trusted, the item no longer, and the others as before
//     (TestReplaceChangesOneItem).
//   - What is added for a directory replaces what was trusted of it before
//     (TestAddReplaces).
//   - What was declined is not trusted, takes no trust away, and is known until its text
//     changes (TestDeclinedItemsAreKnown).
package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/actorswarm/swarm/internal/statefile"
)

// Item is something that a directory would run, or would allow.
type Item struct {
	Dir  string // the directory that it belongs to
	Name string // what it is, such as ".claude/settings.json hooks"
	Text string // exactly what would run
}

// Digest returns the hash by which the item is recorded.
func (i Item) Digest() string {
	sum := sha256.Sum256([]byte(i.Name + "\x00" + i.Text))
	return hex.EncodeToString(sum[:])
}

// Store is the record in one state directory. It reads the file at each call.
type Store struct{ dir string }

// Open returns the record in a state directory. The file need not exist.
func Open(stateDir string) *Store { return &Store{stateDir} }

// record is the content of the file.
type record struct {
	Directories map[string]entry `json:"directories"`
}

// State is what a user has said of an item.
type State int

const (
	Untrusted State = iota
	Changed         // the user trusts it with another text
	Trusted
)

// entry is what is recorded of one directory.
type entry struct {
	identity
	Names    []string `json:"names,omitempty"` // of the items with these digests
	Digests  []string `json:"digests"`
	Declined []string `json:"declined,omitempty"` // what the user has been asked about and does not trust
}

// identity distinguishes a directory from another one at the same path.
type identity struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// FileName is the name of the record in the state directory.
const FileName = "trust.json"

func (s *Store) path() string { return filepath.Join(s.dir, FileName) }

// Trusts reports whether the user trusts an item as it is.
func (s *Store) Trusts(i Item) bool {
	e, ok := s.entry(i.Dir)
	return ok && slices.Contains(e.Digests, i.Digest())
}

// State returns what the user has said of an item.
func (s *Store) State(i Item) State {
	e, ok := s.entry(i.Dir)
	switch {
	case ok && slices.Contains(e.Digests, i.Digest()):
		return Trusted
	case ok && slices.Contains(e.Names, i.Name):
		return Changed
	}
	return Untrusted
}

// Declined reports whether the user was asked about an item as it is and does not trust it.
func (s *Store) Declined(i Item) bool {
	e, ok := s.entry(i.Dir)
	return ok && slices.Contains(e.Declined, i.Digest())
}

// entry returns what is recorded of a directory.
func (s *Store) entry(dir string) (e entry, ok bool) {
	r, err := s.read()
	if err != nil {
		return e, false
	}
	path, id, err := identify(dir)
	e, ok = r.Directories[path]
	return e, err == nil && ok && e.identity == id
}

// Add records that the user trusts a directory with these items and no others.
func (s *Store) Add(dir string, items []Item) error {
	path, id, err := identify(dir)
	if err != nil {
		return fmt.Errorf("trust %s: %w", dir, err)
	}
	e := entry{identity: id, Digests: []string{}}
	for _, i := range items {
		e.Digests, e.Names = append(e.Digests, i.Digest()), append(e.Names, i.Name)
	}
	return s.change(func(all map[string]entry) { all[path] = e })
}

// Replace records that the user trusts an item in place of another of its directory, and
// trusts what else was trusted of it as before.
func (s *Store) Replace(old, now Item) error {
	path, id, err := identify(now.Dir)
	if err != nil {
		return fmt.Errorf("trust %s: %w", now.Dir, err)
	}
	return s.change(func(all map[string]entry) {
		e := entry{identity: id}
		if before, ok := all[path]; ok && before.identity == id {
			e.Digests = slices.DeleteFunc(before.Digests, func(d string) bool { return d == old.Digest() || d == now.Digest() })
			e.Names = slices.DeleteFunc(before.Names, func(n string) bool { return n == old.Name || n == now.Name })
		}
		e.Digests, e.Names = append(e.Digests, now.Digest()), append(e.Names, now.Name)
		all[path] = e
	})
}

// Decline records that the user has been asked about items of a directory and does not
// trust them. What is trusted stays so.
func (s *Store) Decline(dir string, items []Item) error {
	path, id, err := identify(dir)
	if err != nil {
		return fmt.Errorf("record what is not trusted of %s: %w", dir, err)
	}
	return s.change(func(all map[string]entry) {
		e := all[path]
		if e.identity != id {
			e = entry{identity: id, Digests: []string{}}
		}
		for _, i := range items {
			if d := i.Digest(); !slices.Contains(e.Digests, d) && !slices.Contains(e.Declined, d) {
				e.Declined = append(e.Declined, d)
			}
		}
		all[path] = e
	})
}

// Remove withdraws the trust in a directory, which need not exist any more.
func (s *Store) Remove(dir string) error {
	path, _, err := identify(dir)
	if err != nil {
		path = filepath.Clean(dir)
	}
	return s.change(func(all map[string]entry) { delete(all, path) })
}

func (s *Store) change(change func(map[string]entry)) error {
	r, err := s.read()
	if err != nil {
		return err
	}
	if r.Directories == nil {
		r.Directories = map[string]entry{}
	}
	change(r.Directories)
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the trusted directories: %w", err)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return statefile.Error(s.dir, err)
	}
	return statefile.Write(s.path(), append(raw, '\n'))
}

func (s *Store) read() (r record, err error) {
	raw, err := os.ReadFile(s.path())
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("read the trusted directories: %w", err)
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, fmt.Errorf("%s cannot be read, so nothing is trusted; repair or remove it: %w", s.path(), err)
	}
	return r, nil
}
