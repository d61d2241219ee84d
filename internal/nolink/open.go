package nolink

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrLink means that a part of a path is a link, or not a directory any more.
var ErrLink = errors.New("it leads through a link that was not there when its place was decided about")

// Open opens a file for reading. It does not wait for the other end of a pipe.
func Open(path string) (*os.File, error) {
	dir, err := walk(filepath.Dir(path), false)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Openat(fdOf(dir), filepath.Base(path), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	err = errors.Join(named("open", path, err), dir.Close())
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Root opens a directory as the root of what is done in it. With create it makes the
// directories that are missing.
func Root(dir string, create bool) (*os.Root, error) {
	f, err := walk(dir, create)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir) // follows links, so it may be another one
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	same, err := sameDir(root, f)
	if err == nil && !same {
		err = &fs.PathError{Op: "open", Path: dir, Err: ErrLink}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

func sameDir(root *os.Root, f *os.File) (bool, error) {
	has, err := root.Stat(".")
	if err != nil {
		return false, err
	}
	want, err := f.Stat()
	return err == nil && os.SameFile(has, want), err
}

// walk opens a directory part by part, so that no part of its path is a link.
func walk(path string, create bool) (*os.File, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("%s is not an absolute path", path)
	}
	fd, err := unix.Open("/", openDir, 0)
	dir := os.NewFile(uintptr(fd), "/")
	if err != nil {
		return nil, named("open", "/", err)
	}
	at := ""
	for part := range strings.SplitSeq(strings.Trim(filepath.Clean(path), "/"), "/") {
		if part == "" { // the root itself
			break
		}
		at += "/" + part
		next, err := step(dir, part, create)
		if err = errors.Join(named("open", at, err), dir.Close()); err != nil {
			return nil, err
		}
		dir = os.NewFile(uintptr(next), at)
	}
	return dir, nil
}

func step(dir *os.File, part string, create bool) (int, error) {
	fd, err := unix.Openat(fdOf(dir), part, openDir, 0)
	if !create || !errors.Is(err, unix.ENOENT) {
		return fd, err
	}
	if err := unix.Mkdirat(fdOf(dir), part, 0o777); err != nil && !errors.Is(err, unix.EEXIST) {
		return -1, err
	}
	return unix.Openat(fdOf(dir), part, openDir, 0)
}

func fdOf(f *os.File) int { return int(f.Fd()) }

// named says where a system call failed. A link is refused with ELOOP or ENOTDIR.
func named(op, path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR) && isLink(path):
		err = ErrLink
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// isLink reports whether a path names a link now, for an error only.
func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}
