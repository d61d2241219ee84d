package journal

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Sync leaves out the times of the file, which a full fsync would journal.
func (f osFile) Sync() error {
	return f.retry("fdatasync", unix.Fdatasync)
}

// Preallocate reserves space, so that later syncs need not record a new size.
func (f osFile) Preallocate(size int64) error {
	err := f.retry("fallocate", func(fd int) error { return unix.Fallocate(fd, 0, 0, size) })
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return err
}

func (f osFile) retry(name string, call func(fd int) error) error {
	for {
		err := call(int(f.Fd()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return &os.PathError{Op: name, Path: f.Name(), Err: err}
		}
		return nil
	}
}
