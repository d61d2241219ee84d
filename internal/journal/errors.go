package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

var (
	// ErrLocked is wrapped by the error of an Open that found another writer.
	ErrLocked = errors.New("journal is locked")
	// ErrClosed is what a closed journal answers to appends.
	ErrClosed = errors.New("journal is closed")
	// ErrReadOnly is what a journal answers to appends that was opened to look at.
	ErrReadOnly = errors.New("journal is open for reading only")
	// ErrFailed is wrapped by every answer after the first write or sync error.
	ErrFailed = errors.New("journal has stopped for good")
	// ErrTooBig is wrapped by the refusal of a record over [MaxRecord] bytes
	// or of a stream name over [MaxStream] bytes.
	ErrTooBig = errors.New("record too big for the journal")
	// ErrNoKind refuses a record of kind 0, which belongs to the journal.
	ErrNoKind = errors.New("journal record has kind 0: choose a kind from 1 to 255")
)

// LockedError says who holds a journal. It is [ErrLocked].
type LockedError struct {
	Path string // the lock file
	PID  int    // the process that holds it; 0 if it left no number
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
	Records uint64 // sequence numbers missing there; 0 if that is not known
	Reason  string
}

func (d *Damage) Error() string {
	return fmt.Sprintf("journal segment %s is damaged at byte %d: %s (%d bytes, %d records lost); restore the file from a backup if they matter",
		d.Segment, d.Offset, d.Reason, d.Bytes, d.Records)
}

// openError turns what a disk said into what a person can do.
func openError(dir string, err error) error {
	hint := ""
	switch {
	case errors.Is(err, ErrLocked):
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		hint = "; the disk has no room for the next segment: free some space or use another directory"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		hint = "; the directory cannot be written: change its permissions or use another directory"
	case errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.ENOSYS):
		hint = "; the file system lacks something the journal needs (file locks): use a directory on a local disk"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		hint = "; too many files are open: raise the limit (ulimit -n)"
	}
	return fmt.Errorf("open journal in %s: %w%s", dir, err, hint)
}

// stopError is the latch: what failed, forever.
func stopError(path string, err error) error {
	hint := "check the disk, then open the journal again"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		hint = "the disk is full: free some space, then open the journal again"
	}
	return fmt.Errorf("%w: write %s: %w; %s", ErrFailed, path, err, hint)
}
