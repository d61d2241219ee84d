package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/actorswarm/swarm/internal/worktree/process"
)

// unlock removes our own lock from a worktree. A lock that is not ours stays, and
// foreign is its reason.
func (r *Repo) unlock(ctx context.Context, g git, rec *record, admin string) (foreign string, err error) {
	reason, err := firstLine(filepath.Join(admin, "locked"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read the lock of %s: %w", rec.Path, err)
	case rec.Lock == "" || reason != rec.Lock:
		if reason == "" {
			reason = "no reason given"
		}
		return reason, nil
	}
	_, err = g.out(ctx, "worktree", "unlock", "--", rec.Path)
	return "", err
}

// clearIndexLock removes the index.lock that a killed git left in a worktree whose agent
// does not run. A fresh lock, or one that may be in use, stays: the error of git itself
// explains it.
func (r *Repo) clearIndexLock(rec *record, admin string) error {
	path := filepath.Join(admin, "index.lock")
	fi, err := os.Lstat(path)
	if err != nil || !fi.Mode().IsRegular() || time.Since(fi.ModTime()) < r.stale {
		return nil
	}
	if rec.Holder.Alive() && !rec.Holder.IsSelf() || len(process.WorkingIn(rec.Path)) > 0 {
		return nil
	}
	if open, known := process.HasOpen(path); open || !known {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the lock that a killed git left: %w", err)
	}
	return nil
}
