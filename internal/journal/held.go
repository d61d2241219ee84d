package journal

import (
	"errors"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"
)

// Held reports whether a process has the journal of dir open. It changes
// nothing, and does not get into the way of one that is about to open it unless
// the process that had it last still lives.
func Held(dir string) bool {
	path := filepath.Join(dir, lockName)
	pid := lockOwner(path)
	if pid <= 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	l := flock.New(path)
	free, err := l.TryRLock()
	return err == nil && !free || l.Close() != nil
}
