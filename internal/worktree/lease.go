package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/actorswarm/swarm/internal/worktree/filelock"
)

// undoTime is how long undoing a lease that failed may take.
const undoTime = 30 * time.Second

// LeaseOptions name the agent that gets a worktree, and the place.
type LeaseOptions struct {
	// Agent is the full id. Required.
	Agent string
	// Incarnation is the incarnation of the agent that will own the worktree.
	Incarnation uint32
	// Root is the absolute path of the directory that worktrees are made in, outside
	// every checkout of the repository. Required; Lease creates it.
	Root string
	// Base is the revision to start from; "" is the HEAD of the caller's checkout.
	Base string
}

// Lease creates a worktree on a new branch for one incarnation of an agent and
// fills it. If that fails, nothing of it remains. What an earlier Lease for the agent
// left when its process was killed is undone first. The error wraps ErrLeased if the
// agent has a worktree already: Adopt that one, or Prune it.
func (r *Repo) Lease(ctx context.Context, o LeaseOptions) (*Tree, error) {
	rec, err := r.plan(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("lease a worktree for agent %s: %w", o.Agent, err)
	}
	if err := r.build(ctx, rec); err != nil {
		return nil, fmt.Errorf("lease a worktree for agent %s: %w", o.Agent, err)
	}
	return r.tree(rec), nil
}

func (r *Repo) plan(ctx context.Context, o LeaseOptions) (*record, error) {
	if o.Agent == "" || o.Root == "" {
		return nil, errors.New("an agent id and a root are required")
	}
	root, err := MakeRoot(o.Root)
	if err != nil {
		return nil, err
	}
	if err := r.outside(ctx, root); err != nil {
		return nil, err
	}
	base, err := r.commit(ctx, o.Base)
	if err != nil {
		return nil, err
	}
	rec := &record{
		Version: recordVersion, Agent: o.Agent, Common: r.from.common, From: r.from.top, Base: base,
		Path: filepath.Join(root, DirName(o.Agent)),
	}
	rec.hold(o.Incarnation)
	return rec, nil
}

// build makes the worktree, or undoes what it made. It fills in the files without the
// lock on the metadata: that takes longest and touches nothing shared.
func (r *Repo) build(ctx context.Context, rec *record) (err error) {
	var mine bool
	var lock *os.File
	defer func() {
		if lock != nil {
			err = errors.Join(err, filelock.Unlock(lock))
		}
		if err != nil && mine {
			err = errors.Join(err, r.undo(ctx, rec))
		}
	}()
	err = r.exclusively(ctx, func(g git) error {
		if err := r.reserve(ctx, g, rec); err != nil {
			return err
		}
		mine = true
		lock, err = r.add(ctx, g, rec)
		return err
	})
	if err != nil {
		return err
	}
	if err := r.fill(ctx, rec, lock); err != nil {
		return err
	}
	return r.exclusively(ctx, func(git) error { return rec.set(Leased) })
}

// reserve writes the record, unless something is in the way.
func (r *Repo) reserve(ctx context.Context, g git, rec *record) error {
	old, err := readRecord(recordPath(filepath.Dir(rec.Path), rec.Agent))
	if err != nil {
		return err
	}
	if old != nil {
		if err := r.clearUnfinished(ctx, g, old, rec); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(rec.Path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is in the way; move it elsewhere", rec.Path)
	}
	if rec.Branch, err = freeBranch(ctx, g, DirName(rec.Agent)); err != nil {
		return err
	}
	return rec.set(Creating)
}

// clearUnfinished undoes what a dead process left half done for the same agent, or
// returns an error if the agent has a worktree.
func (r *Repo) clearUnfinished(ctx context.Context, g git, old, next *record) error {
	switch {
	case old.Common != r.from.common:
		return refuse(old.Path, "it belongs to the repository %s; give each repository a root of its own", old.Common)
	case old.Incarnation > next.Incarnation:
		return &SupersededError{Agent: old.Agent, Have: next.Incarnation, Want: old.Incarnation, Path: old.Path}
	case old.State != Creating && old.State != Removing:
		return fmt.Errorf("%s: %w to incarnation %d of agent %s; adopt it, or prune it first", old.Path, ErrLeased, old.Incarnation, old.Agent)
	case old.Holder.Alive():
		return fmt.Errorf("%s: %w: process %d has not finished %s it", old.Path, ErrLeased, old.Holder.PID, old.State)
	}
	left, err := r.cleanUp(ctx, g, old)
	if err == nil && left != "" {
		err = fmt.Errorf("%s: %w, unfinished: %s", old.Path, ErrLeased, left)
	}
	return err
}

// freeBranch returns the first unused of worktree-NAME, worktree-NAME-2, ….
func freeBranch(ctx context.Context, g git, name string) (string, error) {
	taken, err := g.line(ctx, "for-each-ref", "--format=%(refname)", "refs/heads/worktree-"+name, "refs/heads/worktree-"+name+"-*")
	if err != nil {
		return "", err
	}
	used := map[string]bool{}
	for _, ref := range lines(taken) {
		used[ref] = true
	}
	branch := "worktree-" + name
	for n := 2; used["refs/heads/"+branch]; n++ {
		branch = fmt.Sprintf("worktree-%s-%d", name, n)
	}
	return branch, nil
}

// add lets git create the branch and an empty worktree, which git locks for us. It
// returns the lock for filling it.
func (r *Repo) add(ctx context.Context, g git, rec *record) (*os.File, error) {
	_, err := g.out(ctx, "worktree", "add", "--quiet", "--no-checkout", "--no-track", "--lock", "--reason", rec.Lock, "-b", rec.Branch, "--", rec.Path, rec.Base)
	if err != nil {
		return nil, err
	}
	admin, err := r.verify(rec)
	if err != nil {
		return nil, err
	}
	lock, err := filelock.Try(fillLock(admin))
	if err == nil && lock == nil {
		err = fmt.Errorf("%s: another process is filling it", rec.Path)
	}
	return lock, err
}

// fillLock is held, by git too, while a worktree's files are written.
func fillLock(admin string) string { return filepath.Join(admin, "swarm.lock") }

func (r *Repo) fill(ctx context.Context, rec *record, lock *os.File) error {
	g, err := r.inside(rec)
	if err != nil {
		return err
	}
	if _, err := g.holding(lock).out(ctx, "read-tree", "--reset", "-u", "HEAD"); err != nil {
		return err
	}
	rec.Included, err = r.include(ctx, rec)
	return err
}

// undo undoes a lease that failed, also when the caller's context has ended.
func (r *Repo) undo(ctx context.Context, rec *record) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	return r.exclusively(ctx, func(g git) error {
		left, err := r.discard(ctx, g, rec)
		if left != "" {
			err = errors.Join(err, fmt.Errorf("undo: %s", left))
		}
		return err
	})
}
