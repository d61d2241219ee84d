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

// unlock takes our own lock off a worktree. foreign is the reason of a lock that
// somebody else set, which stays.
func (r *Repo) unlock(ctx context.Context, g git, rec *record, admin string) (foreign string, err error) {
	reason, err := firstLine(filepath.Join(admin, "locked"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read who locked %s: %w", rec.Path, err)
	case rec.Lock == "" || reason != rec.Lock:
		if reason == "" {
			reason = "no reason given"
		}
		return reason, nil
	}
	_, err = g.out(ctx, "worktree", "unlock", "--", rec.Path)
	return "", err
}

// clearIndexLock removes the index.lock that a killed git left in a worktree
// whose agent is not running. A fresh one, or one that may be in use, stays:
// git says itself what to do about it.
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
