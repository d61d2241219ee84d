package worktree

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/actorswarm/swarm/internal/worktree/filelock"
)

// exclusively runs f with the lock on the shared metadata: the token orders the
// goroutines of this Repo, the lock file all others. The git that f gets holds the lock
// too, so that others wait for a command that outlives this process.
func (r *Repo) exclusively(ctx context.Context, f func(git) error) (err error) {
	select {
	case r.token <- struct{}{}:
		defer func() { <-r.token }()
	case <-ctx.Done():
		return fmt.Errorf("wait for the git metadata of %s: %w", r.from.common, context.Cause(ctx))
	}
	path := filepath.Join(r.from.common, "swarm-worktrees.lock")
	lock, err := filelock.Wait(ctx, path)
	if err != nil {
		return fmt.Errorf("wait for the git metadata of %s: %w", r.from.common, err)
	}
	defer func() { err = errors.Join(err, filelock.Unlock(lock)) }()
	return f(r.shared().holding(lock))
}
