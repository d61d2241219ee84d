package hookdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/actorswarm/swarm/internal/worktree"
	"github.com/actorswarm/swarm/internal/worktree/process"
)

// Dir is a directory that one incarnation of an agent has leased. Its fields do not
// change.
type Dir struct {
	Path        string // real and absolute
	Agent       string
	Incarnation uint32

	dirs  *Dirs
	owner process.ID
}

func (d *Dirs) dir(rec *record) *Dir {
	return &Dir{Path: rec.Path, Agent: rec.Agent, Incarnation: rec.Incarnation, dirs: d, owner: rec.Holder}
}

// Adopt gives the directory of an agent to a later incarnation, or to the same one
// after a restart of its process. The error wraps worktree.ErrNoLease if the agent has
// no directory, and worktree.ErrGone or worktree.ErrShape if the directory is not what
// it was: start no agent in it then.
func (d *Dirs) Adopt(ctx context.Context, agent string, incarnation uint32) (dir *Dir, err error) {
	if _, err := os.Lstat(d.file(agent)); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("adopt the directory of agent %s: %w of it under %s", agent, worktree.ErrNoLease, d.root)
	}
	err = d.exclusively(ctx, func() error {
		rec, err := d.read(agent)
		switch {
		case err != nil:
			return err
		case rec == nil:
			return fmt.Errorf("%w of it under %s", worktree.ErrNoLease, d.root)
		case incarnation < rec.Incarnation:
			return &worktree.SupersededError{Agent: agent, Have: incarnation, Want: rec.Incarnation, Path: rec.Path}
		case rec.State == worktree.Creating:
			return fmt.Errorf("%w of it that is whole", worktree.ErrNoLease)
		case rec.State == worktree.Removing && missing(rec.Path):
			return errors.Join(d.forget(agent), fmt.Errorf("%w of it: %s was removed", worktree.ErrNoLease, rec.Path))
		case incarnation == rec.Incarnation && rec.State != worktree.Kept && rec.Holder.Alive() && !rec.Holder.IsSelf():
			return fmt.Errorf("%s: %w to this incarnation in process %d", rec.Path, worktree.ErrLeased, rec.Holder.PID)
		}
		if err := rec.verify(); err != nil {
			return err
		}
		rec.Incarnation, rec.Holder = incarnation, process.Self()
		dir = d.dir(rec)
		return d.set(rec, worktree.Leased)
	})
	if err != nil {
		return nil, fmt.Errorf("adopt the directory of agent %s: %w", agent, err)
	}
	return dir, nil
}

// Release ends the lease. The maker removes a directory in which nothing has changed
// since it was made, unless the caller has reasons to keep it. Any other directory
// stays, with the reasons in the result.
func (d *Dir) Release(ctx context.Context, keep ...string) (worktree.Released, error) {
	rel, err := d.dirs.release(ctx, d.Agent, d.mine, keep)
	if rel.Path == "" {
		rel.Path = d.Path
	}
	if err != nil {
		return rel, fmt.Errorf("release the directory of agent %s: %w", d.Agent, err)
	}
	return rel, nil
}

// mine returns an error if the directory belongs to another incarnation or process.
func (d *Dir) mine(rec *record) error {
	if rec.Incarnation != d.Incarnation || rec.State == worktree.Leased && rec.Holder != d.owner {
		return &worktree.SupersededError{Agent: d.Agent, Have: d.Incarnation, Want: rec.Incarnation, Path: d.Path}
	}
	return nil
}

// release ends the lease of an agent if check accepts its record.
func (d *Dirs) release(ctx context.Context, agent string, check func(*record) error, keep []string) (rel worktree.Released, err error) {
	var rec *record
	err = d.exclusively(ctx, func() error {
		if rec, err = d.read(agent); err != nil || rec == nil {
			return err
		}
		if err := check(rec); err != nil {
			return err
		}
		rel = worktree.Released{Path: rec.Path, Why: rec.reasons(keep)}
		if len(rel.Why) > 0 {
			return d.set(rec, worktree.Kept)
		}
		rec.Holder = process.Self()
		return d.set(rec, worktree.Removing)
	})
	if err != nil || len(rel.Why) > 0 {
		return rel, err
	}
	if rec == nil || missing(rec.Path) {
		rel.Removed = true
		return rel, d.forget(agent)
	}
	if why := d.remove(ctx, rec.Path); why != "" {
		rel.Why = []string{why}
		return rel, d.exclusively(context.WithoutCancel(ctx), func() error { return d.set(rec, worktree.Kept) })
	}
	rel.Removed = true
	return rel, d.forget(agent)
}

// remove lets the maker remove a directory. why is the reason if the directory remains.
func (d *Dirs) remove(ctx context.Context, path string) (why string) {
	err := d.maker.Remove(ctx, path)
	switch {
	case missing(path):
		return ""
	case err != nil:
		return err.Error()
	}
	return "the hook that should remove it left it in place"
}
