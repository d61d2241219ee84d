package journal

import "io"

// FS is what a journal needs of a file system. [OS] is the real one; journaltest has one
// that can crash.
type FS interface {
	// MkdirAll creates dir (mode 0700) and its parents durably.
	MkdirAll(dir string) error
	// Lock takes the exclusive lock on path without waiting, and leaves the
	// process id in it. The error for a lock that is held is an [ErrLocked].
	Lock(path string) (io.Closer, error)
	// List returns the file names in dir, in any order.
	List(dir string) ([]string, error)
	// Open opens a file for reading.
	Open(path string) (File, error)
	// Create opens a file for reading and writing, creating it if missing.
	Create(path string) (File, error)
	// SyncDir makes the names in dir durable.
	SyncDir(dir string) error
}

// File is one open file of an [FS].
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	Truncate(size int64) error
	// Sync makes written data, and the size needed to read it, durable.
	Sync() error
	// Preallocate reserves the bytes up to size, reading as zero, and may
	// grow the file to it. Where the file system cannot, it does nothing.
	Preallocate(size int64) error
}
