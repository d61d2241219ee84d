package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// exclusively runs f while nobody else changes the shared metadata: the token
// orders the goroutines of this Repo, the lock file everybody else. The git that
// f gets holds the lock too, so that a command which outlives us is waited for.
func (r *Repo) exclusively(ctx context.Context, f func(git) error) (err error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return fmt.Errorf("wait for the git metadata of %s: %w", r.from.common, context.Cause(ctx))
	}
	path := filepath.Join(r.from.common, "swarm-worktrees.lock")
	lock, err := lockFile(ctx, path)
	if err != nil {
		return fmt.Errorf("wait for the git metadata of %s: %w", r.from.common, err)
	}
	defer func() { err = errors.Join(err, unlockFile(lock)) }()
	return f(r.shared().holding(lock))
}

// lockFile waits until no process holds the lock on path.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	pause := time.Millisecond
	for {
		f, err := tryLock(path)
		if f != nil || err != nil {
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
			pause = min(2*pause, 20*time.Millisecond)
		}
	}
}

// tryLock returns nil without an error if another process holds the lock.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case err == nil:
			return f, nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return nil, f.Close()
		default:
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
	}
}

func unlockFile(f *os.File) error {
	return errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_UN), f.Close())
}
