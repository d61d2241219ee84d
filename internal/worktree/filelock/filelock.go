// Package filelock lets one process at a time, and one goroutine at a time in it,
// change what a lock file stands for.
//
//	lock, err := filelock.Wait(ctx, filepath.Join(dir, "lock"))
//	if err != nil {
//		return err
//	}
//	defer func() { err = errors.Join(err, filelock.Unlock(lock)) }()
//
// The lock is the open file, which can be passed on to a command: the lock then lasts
// until the command has ended, even if the process that took it is killed. The file
// itself stays.
//
// Laws:
//
//   - Nobody else gets a lock before it is released (TestOneHolderAtATime).
//   - A command that has inherited the file keeps the lock when its parent dies
//     (TestACommandKeepsTheLock).
//   - A context that ends ends the wait, with its cause (TestWaitEndsWithItsContext).
//   - A symbolic link is refused (TestALinkIsRefused).
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Wait takes the lock on path as soon as nobody else holds it. It ends with the cause
// of ctx when that ends first.
func Wait(ctx context.Context, path string) (*os.File, error) {
	pause := time.Millisecond
	for {
		f, err := Try(path)
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

// Try takes the lock on path, or returns nil without an error if another holds
// it. It refuses a symbolic link.
func Try(path string) (*os.File, error) {
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

// Unlock releases a lock and closes its file.
func Unlock(f *os.File) error {
	return errors.Join(unix.Flock(int(f.Fd()), unix.LOCK_UN), f.Close())
}
