package journal

import (
	"path/filepath"

	"github.com/gofrs/flock"
)

// InUse reports whether a process has the journal of dir open. It changes nothing. It
// tests the lock only while the last holder lives, so that it does not delay a process
// that is about to open the journal of a dead one.
func InUse(dir string) bool {
	path := filepath.Join(dir, lockName)
	pid := lockOwner(path)
	if pid <= 0 || isDead(pid) {
		return false
	}
	l := flock.New(path)
	free, err := l.TryRLock()
	return err == nil && !free || l.Close() != nil
}
