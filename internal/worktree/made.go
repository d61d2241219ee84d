package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Maker makes directories for agents in git's place, and removes them.
type Maker interface {
	// Create makes a directory and returns its absolute path.
	Create(ctx context.Context, name string) (path string, err error)
	// Remove removes one. It wraps ErrNoRemover if nobody is there to do it.
	Remove(ctx context.Context, path string) error
}

// ErrNoRemover is wrapped when directories are made but never removed.
var ErrNoRemover = errors.New("nothing is set up to remove it")

// Made leases directories that a Maker makes. Its methods may be called from
// any goroutine, and by several processes with the same root.
type Made struct {
	root  string // of the records
	maker Maker
	stale time.Duration
}

// NewMade returns the leases whose records are in root, which is created with
// the first of them.
func NewMade(root string, m Maker, o Options) *Made {
	if o.StaleAfter <= 0 {
		o.StaleAfter = DefaultStaleAfter
	}
	return &Made{root: root, maker: m, stale: o.StaleAfter}
}

func (m *Made) file(agent string) string { return filepath.Join(m.root, nameOf(agent)+".json") }

// MadeOptions says for whom a directory is.
type MadeOptions struct {
	Agent       string
	Incarnation uint32
	// Want is the path that the agent knows from before, or "".
	Want string
	// Off are the directories that must neither be it nor lie in it. Real paths.
	Off []string
}

// Lease lets the maker make a directory for one incarnation of an agent. It is
// refused if it is no directory, a link, somebody else's, or holds what is off
// limits; then it is left as it is and the error names it.
func (m *Made) Lease(ctx context.Context, o MadeOptions) (*MadeTree, error) {
	rec := &madeRecord{Version: recordVersion, Agent: o.Agent, Incarnation: o.Incarnation, State: Creating, Holder: self()}
	err := m.reserve(ctx, rec)
	if err == nil {
		err = m.make(ctx, rec, o)
	}
	if err != nil {
		return nil, fmt.Errorf("make a directory for agent %s: %w", o.Agent, err)
	}
	return m.tree(rec), nil
}

// reserve writes the record, so that a directory which a kill leaves is known
// of by its name.
func (m *Made) reserve(ctx context.Context, rec *madeRecord) error {
	if _, err := realRoot(m.root); err != nil {
		return err
	}
	return m.exclusively(ctx, func() error {
		old, err := m.read(rec.Agent)
		switch {
		case err != nil:
			return err
		case old == nil, old.State == Creating && !old.Holder.alive():
			return m.set(rec, Creating)
		case old.Incarnation > rec.Incarnation:
			return &SupersededError{Agent: rec.Agent, Have: rec.Incarnation, Want: old.Incarnation, Path: old.Path}
		}
		return fmt.Errorf("%s: %w to incarnation %d of agent %s", old.Path, ErrLeased, old.Incarnation, old.Agent)
	})
}

// make runs the maker and takes the directory over, or forgets the record.
func (m *Made) make(ctx context.Context, rec *madeRecord, o MadeOptions) error {
	path, err := m.maker.Create(ctx, nameOf(o.Agent))
	if err == nil {
		if rec.Path, err = madePath(path, o.Off); err == nil {
			rec.Print, err = fingerprint(rec.Path)
		}
		if err == nil && o.Want != "" && o.Want != rec.Path {
			err = fmt.Errorf("the agent worked in %s before", o.Want)
		}
		if err == nil {
			err = m.exclusively(ctx, func() error {
				if err := m.unique(rec); err != nil {
					return err
				}
				return m.set(rec, Leased)
			})
		}
		if err != nil {
			err = fmt.Errorf("%s was made and is left as it is: %w", path, err)
		}
	}
	if err != nil {
		return errors.Join(err, m.forget(rec.Agent))
	}
	return nil
}

// madePath returns the real path of a directory that was made, if an agent can
// be enclosed in it.
func madePath(path string, off []string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", odd(path, "it must be an absolute path")
	}
	path = filepath.Clean(path)
	fi, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if !fi.IsDir() {
		return "", odd(path, "it is %s, not a directory", kind(fi))
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	for _, dir := range off {
		if below(dir, real) {
			return "", odd(path, "it holds %s, which an isolated agent must not change", dir)
		}
	}
	return real, ownGit(real)
}

// ownGit refuses a directory in which git would work on a checkout around it.
func ownGit(dir string) error {
	c, err := findCheckout(dir)
	switch {
	case errors.Is(err, ErrNoRepository):
		return nil
	case err != nil:
		return err
	case c.top != dir:
		return odd(dir, "git run in it would work on the checkout %s around it; make a worktree or a clone of it", c.top)
	}
	return nil
}

// unique makes sure that no other agent has the directory or a part of it.
func (m *Made) unique(rec *madeRecord) error {
	all, err := m.all()
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.Agent != rec.Agent && other.Path != "" && (below(other.Path, rec.Path) || below(rec.Path, other.Path)) {
			return fmt.Errorf("%w: agent %s has %s", ErrLeased, other.Agent, other.Path)
		}
	}
	return nil
}
