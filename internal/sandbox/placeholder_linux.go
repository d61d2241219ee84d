package sandbox

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// placeholder stands where a fixed name does not exist, since only what exists can be
// covered by a mount: an empty file or directory, seen for as long as commands need it.
// Each of them, in all processes, holds a shared lock of it; the last one removes it.
type placeholder struct {
	path string
	dir  bool
	file *os.File
}

// placeholderTime is the time of change that distinguishes a placeholder from an empty
// file of the user.
func placeholderTime() time.Time { return time.Unix(1, 0) }

// hold makes sure that fixed names exist, and returns them with the placeholders to
// release. A name that nobody can make is left out.
func hold(fixed []Fixed) (paths []string, all []*placeholder, err error) {
	for _, f := range fixed {
		h, there, err := f.hold()
		if err != nil {
			for _, h := range all {
				err = errors.Join(err, h.release())
			}
			return nil, nil, err
		}
		if h != nil {
			all = append(all, h)
		}
		if there {
			paths = append(paths, f.Path)
		}
	}
	return paths, all, nil
}

// maxTries bounds how often a placeholder is made anew that others remove meanwhile.
const maxTries = 100

func (f Fixed) hold() (h *placeholder, there bool, err error) {
	for range maxTries {
		info, err := os.Lstat(f.Path)
		switch {
		case err == nil && info.Mode()&os.ModeSymlink != 0:
			return nil, false, fmt.Errorf("%s is a symbolic link, which cannot be protected; replace it by what it leads to", f.Path)
		case err == nil && !isPlaceholder(info):
			return nil, true, nil
		case errors.Is(err, os.ErrNotExist):
			if err := f.make(); err != nil {
				return nil, false, nil //nolint:nilerr // the command cannot make it either
			}
		case err != nil:
			return nil, false, nil //nolint:nilerr // likewise
		}
		if h := lockPlaceholder(f); h != nil {
			return h, true, nil
		}
	}
	return nil, false, fmt.Errorf("%s comes and goes; try again when other commands have ended", f.Path)
}

func isPlaceholder(info os.FileInfo) bool {
	return (info.IsDir() || info.Size() == 0) && info.ModTime().Equal(placeholderTime())
}

func (f Fixed) make() error {
	err := makeTarget(f.Path, f.Dir)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Chtimes(f.Path, placeholderTime(), placeholderTime())
}

// lockPlaceholder returns nil if the placeholder has been removed meanwhile.
func lockPlaceholder(f Fixed) *placeholder {
	file, err := os.OpenFile(f.Path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil
	}
	h := &placeholder{path: f.Path, file: file}
	if unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil || !h.same() {
		file.Close()
		return nil
	}
	return h
}

// same reports whether the path still leads to the placeholder.
func (h *placeholder) same() bool {
	mine, err := h.file.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(h.path)
	h.dir = mine.IsDir()
	return err == nil && os.SameFile(mine, now) && isPlaceholder(now)
}

// release gives the placeholder back, and removes it if nobody else holds it.
func (h *placeholder) release() (err error) {
	defer func() { err = errors.Join(err, h.file.Close()) }()
	if unix.Flock(int(h.file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil || !h.same() {
		return nil
	}
	if err := os.Remove(h.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the placeholder %s: %w", h.path, err)
	}
	return nil
}

// RemovePlaceholders removes the placeholders that nobody holds: those of a killed process.
func (pl Place) RemovePlaceholders() (err error) {
	for _, f := range pl.fixedIn(each(pl.Dirs, real)) {
		info, statErr := os.Lstat(f.Path)
		if statErr != nil || info.Mode()&os.ModeSymlink != 0 || !isPlaceholder(info) {
			continue
		}
		if h := lockPlaceholder(f); h != nil {
			err = errors.Join(err, h.release())
		}
	}
	return err
}
