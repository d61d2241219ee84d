package nolink

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Walk calls fn for all that is below a directory, as fs.WalkDir does, and for the
// directory itself, which is called ".". It reads each directory through no link, so that
// what it finds was below the directory. The Info of an entry is by path, and may be of
// another file.
func Walk(dir string, fn fs.WalkDirFunc) error {
	f, err := walk(dir, false)
	if err != nil {
		return err
	}
	return errors.Join(fs.WalkDir(tree{f, dir}, ".", fn), f.Close())
}

// tree is a directory as a file system without links.
type tree struct {
	dir  *os.File
	path string
}

// Open implements fs.FS.
func (t tree) Open(name string) (fs.File, error) {
	path := filepath.Join(t.path, filepath.FromSlash(name))
	fd, err := t.open(name)
	if err != nil {
		return nil, named("open", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// open opens a file below the directory part by part.
func (t tree) open(name string) (int, error) {
	at, own := fdOf(t.dir), false
	parts := strings.Split(name, "/")
	for i, part := range parts {
		flags := openDir
		if i == len(parts)-1 {
			flags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
		}
		next, err := unix.Openat(at, part, flags, 0)
		if own {
			err = errors.Join(err, unix.Close(at))
		}
		if err != nil {
			return -1, err
		}
		at, own = next, true
	}
	return at, nil
}
