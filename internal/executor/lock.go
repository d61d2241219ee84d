package executor

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// Lock is the lock that the process of an agent holds while it lives.
type Lock struct{ file *os.File }

// HeldError reports that a living process holds the lock.
type HeldError struct{ Path string }

func (e *HeldError) Error() string {
	return fmt.Sprintf("another process runs this agent: it holds %s", e.Path)
}

// Acquire acquires the lock, or returns *HeldError.
func Acquire(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock %s: %w", path, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = &HeldError{Path: path}
		}
		return nil, errors.Join(err, f.Close())
	}
	l := &Lock{file: f}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteString(strconv.Itoa(os.Getpid()))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write into the lock %s: %w", path, err), l.Release())
	}
	return l, nil
}

// Holder returns the process that holds the lock, if its number is recorded.
func Holder(path string) (pid int, ok bool) {
	if !Held(path) {
		return 0, false
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	pid, err = strconv.Atoi(string(raw))
	return pid, err == nil && pid > 1
}

// Release releases the lock.
func (l *Lock) Release() error { return l.file.Close() }

// Held reports whether a living process holds the lock.
func Held(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false // no process has ever held it
	}
	defer f.Close()
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
