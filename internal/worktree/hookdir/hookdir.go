// Package hookdir leases to agents the directories that a program other than git
// makes, such as a pair of hooks. Each lease has a record, so that a directory has one
// owner and survives a crash of the process that leased it.
//
//	dirs := hookdir.New(recordDir, maker, worktree.Options{})
//	dir, err := dirs.Lease(ctx, hookdir.LeaseOptions{Agent: id, Incarnation: 1, Off: offLimits})
//	… // the agent works in dir.Path
//	released, err := dir.Release(ctx) // the maker removes it, or released.Why has the reasons against it
//
// States, results and errors are those of package worktree. This package deletes no
// directory itself.
//
// Laws:
//
//   - The maker is asked to remove a directory only if nothing in it has changed since
//     it was made; any other directory stays (TestDirIsRemovedOnlyUntouched).
//   - A directory belongs to one incarnation of one agent, and an earlier incarnation
//     is refused (TestDirBelongsToOneIncarnation).
//   - A path in which an agent could not be isolated is refused: a link, a part of
//     another agent's directory, a directory around one that is off limits, or one in
//     which git would work on another checkout (TestLeaseRefusesOddShapes).
//   - A maker that fails leaves no lease behind (TestFailingMakerGivesAndRemovesNothing).
//   - A directory whose process was killed in any state can be adopted, or is listed
//     with what to look for (TestDirAfterACrash).
package hookdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/actorswarm/swarm/internal/worktree"
	"github.com/actorswarm/swarm/internal/worktree/process"
)

// Maker makes and removes directories; a pair of hooks is one.
type Maker interface {
	// Create makes a directory and returns its absolute path.
	Create(ctx context.Context, name string) (path string, err error)
	// Remove removes a directory. The error wraps ErrNoRemover if no hook is set up
	// to remove directories.
	Remove(ctx context.Context, path string) error
}

// ErrNoRemover is wrapped by a Maker that can make directories but not remove them.
var ErrNoRemover = errors.New("nothing is set up to remove it")

// Dirs leases the directories that a Maker makes. Its methods may be called from any
// goroutine, and several processes may use the same records.
type Dirs struct {
	root  string // holds the records
	maker Maker
	stale time.Duration
}

// New returns the directories whose records are in root. The first Lease creates root.
func New(root string, m Maker, o worktree.Options) *Dirs {
	if o.StaleAfter <= 0 {
		o.StaleAfter = worktree.DefaultStaleAfter
	}
	return &Dirs{root: root, maker: m, stale: o.StaleAfter}
}

func (d *Dirs) file(agent string) string {
	return filepath.Join(d.root, worktree.DirName(agent)+".json")
}

// LeaseOptions name the agent that gets a directory, and the directories that it cannot get.
type LeaseOptions struct {
	Agent       string
	Incarnation uint32
	// Want is the path of the directory that the agent worked in before; "" if any
	// path is right.
	Want string
	// Off lists the real paths of directories that the new one must not be or hold.
	Off []string
}

// Lease lets the maker make a directory for one incarnation of an agent. A path that
// is not a directory, is a link, belongs to another agent, or holds a directory that is
// off limits is refused: it is left as it is, and the error names it.
func (d *Dirs) Lease(ctx context.Context, o LeaseOptions) (*Dir, error) {
	rec := &record{Version: recordVersion, Agent: o.Agent, Incarnation: o.Incarnation, State: worktree.Creating, Holder: process.Self()}
	err := d.reserve(ctx, rec)
	if err == nil {
		err = d.make(ctx, rec, o)
	}
	if err != nil {
		return nil, fmt.Errorf("make a directory for agent %s: %w", o.Agent, err)
	}
	return d.dir(rec), nil
}

// reserve writes the record before the maker runs, so that after a kill List can name
// what to look for.
func (d *Dirs) reserve(ctx context.Context, rec *record) error {
	if _, err := worktree.MakeRoot(d.root); err != nil {
		return err
	}
	return d.exclusively(ctx, func() error {
		old, err := d.read(rec.Agent)
		switch {
		case err != nil:
			return err
		case old == nil, old.State == worktree.Creating && !old.Holder.Alive():
			return d.set(rec, worktree.Creating)
		case old.Incarnation > rec.Incarnation:
			return &worktree.SupersededError{Agent: rec.Agent, Have: rec.Incarnation, Want: old.Incarnation, Path: old.Path}
		}
		return fmt.Errorf("%s: %w to incarnation %d of agent %s", old.Path, worktree.ErrLeased, old.Incarnation, old.Agent)
	})
}

// make runs the maker and records its directory, or deletes the record.
func (d *Dirs) make(ctx context.Context, rec *record, o LeaseOptions) error {
	path, err := d.maker.Create(ctx, worktree.DirName(o.Agent))
	if err == nil {
		if err = d.take(ctx, rec, path, o); err != nil {
			err = fmt.Errorf("%s was made and is left as it is: %w", path, err)
		}
	}
	if err != nil {
		return errors.Join(err, d.forget(rec.Agent))
	}
	return nil
}

// take checks the directory that the maker made and records it as leased.
func (d *Dirs) take(ctx context.Context, rec *record, path string, o LeaseOptions) (err error) {
	if rec.Path, err = realPath(path, o.Off); err != nil {
		return err
	}
	if rec.Print, err = fingerprint(rec.Path); err != nil {
		return err
	}
	if o.Want != "" && o.Want != rec.Path {
		return fmt.Errorf("the agent worked in %s before", o.Want)
	}
	return d.exclusively(ctx, func() error {
		if err := d.unique(rec); err != nil {
			return err
		}
		return d.set(rec, worktree.Leased)
	})
}

// realPath returns the real path of a directory that was made, or an error if an agent
// cannot be isolated in it.
func realPath(path string, off []string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", refuse(path, "it must be an absolute path")
	}
	path = filepath.Clean(path)
	fi, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if !fi.IsDir() {
		return "", refuse(path, "it is not a directory, or it is a symbolic link")
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	for _, dir := range off {
		if below(dir, real) {
			return "", refuse(path, "it holds %s, which an isolated agent must not change", dir)
		}
	}
	return real, worktree.CheckTop(real)
}

// unique returns an error if another agent has the directory, a part of it, or one that
// holds it.
func (d *Dirs) unique(rec *record) error {
	all, err := d.all()
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.Agent != rec.Agent && other.Path != "" && (below(other.Path, rec.Path) || below(rec.Path, other.Path)) {
			return fmt.Errorf("%w: agent %s has %s", worktree.ErrLeased, other.Agent, other.Path)
		}
	}
	return nil
}

// below reports whether path is dir or inside it. Both are clean and real.
func below(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// refuse returns the error for a path that is not what it has to be.
func refuse(path, why string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", path, worktree.ErrShape, fmt.Sprintf(why, args...))
}
