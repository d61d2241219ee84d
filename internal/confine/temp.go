package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// The names below a temporary directory: what commands write, and what stands for files
// that are hidden from them.
const (
	prefix    = "swarm-inspect-"
	filesName = "tmp"
	maskName  = "hidden"
)

// temp is a temporary directory that is locked for as long as its owner lives.
type temp struct {
	dir  string
	lock *os.File
}

func (t *temp) files() string { return filepath.Join(t.dir, filesName) }

// maxTries bounds how often a directory is made anew that another process took for a
// leftover, before it was locked.
const maxTries = 10

func makeTemp() (*temp, error) {
	for range maxTries {
		dir, err := os.MkdirTemp("", prefix+"*")
		if err != nil {
			return nil, err
		}
		lock, err := lockDir(dir)
		if err != nil {
			continue
		}
		t := &temp{dir, lock}
		if err := os.Mkdir(t.files(), 0o700); err != nil {
			return nil, errors.Join(err, t.remove())
		}
		return t, nil
	}
	return nil, fmt.Errorf("others remove what is made in %s", os.TempDir())
}

// mask returns what stands for hidden files and cannot be opened by anybody, also not by
// root: a socket without a listener. It is "" where there cannot be one.
func (t *temp) mask() string {
	path := filepath.Join(t.dir, maskName)
	if err := unix.Mknod(path, unix.S_IFSOCK|0o600, 0); err != nil && !errors.Is(err, os.ErrExist) {
		return ""
	}
	return path
}

// lockDir locks a directory, which has to be there still.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	mine, err := f.Stat()
	now, gone := os.Lstat(dir)
	if err = errors.Join(err, gone); err == nil && !os.SameFile(mine, now) {
		err = os.ErrNotExist
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// remove removes the directory; the lock goes last.
func (t *temp) remove() error { return errors.Join(os.RemoveAll(t.dir), t.lock.Close()) }

// RemoveLeftovers removes the temporary directories of this user whose owners were killed:
// the kernel has then given up their locks. It returns how many there were.
func RemoveLeftovers() (removed int, err error) {
	found, err := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	for _, dir := range found {
		info, statErr := os.Lstat(dir)
		if statErr != nil || !info.IsDir() || !ours(info) {
			continue
		}
		lock, lockErr := lockDir(dir)
		if lockErr != nil {
			continue // its owner lives, or another process removes it
		}
		err = errors.Join(err, (&temp{dir, lock}).remove())
		removed++
	}
	return removed, err
}

func ours(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}
