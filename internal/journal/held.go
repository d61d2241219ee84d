package journal

import (
	"path/filepath"

	"github.com/gofrs/flock"
)

// Held reports whether a process has the journal of dir open. It changes
// nothing, and does not get into the way of one that is about to open it unless
// the process that had it last still lives.
func Held(dir string) bool {
	path := filepath.Join(dir, lockName)
	pid := lockOwner(path)
	if pid <= 0 || isDead(pid) {
		return false
	}
	l := flock.New(path)
	free, err := l.TryRLock()
	return err == nil && !free || l.Close() != nil
}
