package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

var (
	// ErrLocked is wrapped by the error of Open when the journal is open elsewhere.
	ErrLocked = errors.New("journal is locked")
	// ErrClosed is the error of an append to a closed journal.
	ErrClosed = errors.New("journal is closed")
	// ErrReadOnly is the error of an append to a journal opened with Options.ReadOnly.
	ErrReadOnly = errors.New("journal is open for reading only")
	// ErrFailed is wrapped by every error after the first write or sync error.
	ErrFailed = errors.New("journal has stopped for good")
	// ErrTooBig is wrapped by the error for a record over [MaxRecord] bytes or a
	// stream name over [MaxStream] bytes.
	ErrTooBig = errors.New("record too big for the journal")
	// ErrNoKind is the error for a record of kind 0, which the journal reserves.
	ErrNoKind = errors.New("journal record has kind 0: choose a kind from 1 to 255")
)

// LockedError is the [ErrLocked] that names the process which holds the journal.
type LockedError struct {
	Path string // the lock file
	PID  int    // the process that holds it; 0 if it is not known
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("%s is held by %s: end that process or use another directory", e.Path, who)
}

// Is makes the error an [ErrLocked].
func (e *LockedError) Is(target error) bool { return target == ErrLocked }

// Damage is a stretch of a segment that was durable and cannot be read.
type Damage struct {
	Segment string // file name inside the directory
	Offset  int64  // where the stretch begins
	Bytes   int64  // its length; 0 if whole records are missing without a trace
	Records uint64 // sequence numbers missing there; 0 if their number is not known
	Reason  string
}

func (d *Damage) Error() string {
	return fmt.Sprintf("journal segment %s is damaged at byte %d: %s (%d bytes, %d records lost); restore the file from a backup if they matter",
		d.Segment, d.Offset, d.Reason, d.Bytes, d.Records)
}

// openError adds to the error of a disk what a person can do about it.
func openError(dir string, err error) error {
	hint := ""
	switch {
	case errors.Is(err, ErrLocked):
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		hint = "; the disk has no room for the next segment: free some space or use another directory"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		hint = "; the directory cannot be written: change its permissions or use another directory"
	case errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.ENOSYS):
		hint = "; the file system has no file locks, which the journal needs: use a directory on a local disk"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		hint = "; too many files are open: raise the limit (ulimit -n)"
	}
	return fmt.Errorf("open journal in %s: %w%s", dir, err, hint)
}

// stopError returns the error with which the journal stops for good.
func stopError(path string, err error) error {
	hint := "check the disk, then open the journal again"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		hint = "the disk is full: free some space, then open the journal again"
	}
	return fmt.Errorf("%w: write %s: %w; %s", ErrFailed, path, err, hint)
}
