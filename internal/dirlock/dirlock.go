// Package dirlock lets one writer at a time, in whatever process, change the files of a
// directory.
//
//	unlock, err := dirlock.Wait(ctx, dir) // an open directory
//	if err != nil {
//		return err
//	}
//	defer func() { err = errors.Join(err, unlock()) }()
//
// The kernel holds the lock: it needs no file and ends with its holder. Programs that take
// no lock are not kept out.
//
// Laws:
//
//   - Nobody else gets a lock before it is released, also where a directory cannot be
//     locked itself (TestOneHolderAtATime, TestDirectoriesThatCannotBeLockedAreLockedBeside).
//   - A context that ends ends the wait, with its cause (TestWaitEndsWithItsContext).
package dirlock

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	lockWait = 30 * time.Second // before a lock is taken to be stuck
	lockTick = 10 * time.Millisecond
)

// Wait acquires the advisory lock of an open directory.
func Wait(ctx context.Context, folder *os.File) (unlock func() error, err error) {
	err = flock(ctx, folder)
	if err == nil {
		return func() error { return unix.Flock(int(folder.Fd()), unix.LOCK_UN) }, nil
	}
	if !errors.Is(err, unix.EBADF) && !errors.Is(err, unix.ENOLCK) && !errors.Is(err, unix.EOPNOTSUPP) {
		return nil, err
	}
	return lockBeside(ctx, folder.Name())
}

// lockBeside locks a file in the temporary directory, for directories on file systems
// without such locks, such as NFS.
func lockBeside(ctx context.Context, folder string) (unlock func() error, err error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("swarm-locks-%d", os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the folder of locks: %w", err)
	}
	name := fmt.Sprintf("%x", sha256.Sum256([]byte(folder)))
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of %s: %w", folder, err)
	}
	if err := flock(ctx, f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

// flock acquires an exclusive lock by attempts with short, uneven pauses, since ctx could
// not interrupt the blocking call.
func flock(ctx context.Context, f *os.File) error {
	deadline := time.NewTimer(lockWait)
	defer deadline.Stop()
	for pause := lockTick / 64; ; pause = min(2*pause, lockTick) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-deadline.C:
			return fmt.Errorf("another program has held the lock of %s for %v; try again when it is done", f.Name(), lockWait)
		case <-ctx.Done():
			return fmt.Errorf("waiting for the lock of %s was stopped: %w", f.Name(), context.Cause(ctx))
		}
	}
}
