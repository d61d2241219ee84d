// Package statefile writes the files of the state directory at once and on disk: a
// reader, or a process that starts after a crash, finds the old bytes or the new ones.
//
//	err := statefile.Write(filepath.Join(dir, "session.json"), data)
//
// The laws:
//
//   - A write that fails leaves the file as it was (TestAFailedWriteLeavesTheFile).
//   - An error names the remedy for the directory (TestErrorsNameTheWayOut).
package statefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Write puts a file in place at once and on disk, readable by nobody else.
func Write(path string, data []byte) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return Error(filepath.Dir(path), err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return Error(filepath.Dir(path), err)
	}
	return os.Rename(path+".new", path)
}

// Name makes an id fit to be the name of a file.
func Name(id string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, id)
	return name[:min(len(name), 120)]
}

// MakeDirs makes directories below dir, readable by nobody else.
func MakeDirs(dir string, names ...string) error {
	for _, name := range names {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return Error(dir, err)
		}
	}
	return nil
}

// Error adds a remedy to the error of a state directory that cannot be used.
func Error(dir string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission), strings.Contains(err.Error(), "read-only"):
		return fmt.Errorf("the state directory %s cannot be written; make it writable or set SWARM_HOME to another: %w", dir, err)
	case strings.Contains(err.Error(), "no space"):
		return fmt.Errorf("the disk of the state directory %s is full; make room or set SWARM_HOME to another: %w", dir, err)
	}
	return fmt.Errorf("the state directory %s cannot be used; set SWARM_HOME to another: %w", dir, err)
}
