package rulefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/actorswarm/swarm/defs"
)

// File is a settings file, which need not exist.
type File struct {
	Dir  string // the directory that no link may lead out of
	Name string // the path of the file below Dir
}

// Path returns the path of the file.
func (f File) Path() string { return filepath.Join(f.Dir, f.Name) }

// Add adds a rule at the end of a list, such as allow, and returns its line. A list that
// does not exist is made, and so is the file.
func (f File) Add(list, rule string) (line int, err error) {
	err = f.change(func(src []byte) ([]byte, error) {
		out, at, err := add(src, list, rule)
		line = 1 + bytes.Count(out[:at], []byte("\n"))
		return out, err
	})
	return line, err
}

// Remove removes the rules for which match holds from all lists, and returns how many
// there were.
func (f File) Remove(match func(list, rule string) bool) (removed int, err error) {
	err = f.change(func(src []byte) (out []byte, err error) {
		out, removed, err = remove(src, match)
		return out, err
	})
	return removed, err
}

// newSuffix follows the name of a file while its new content is written.
const newSuffix = ".swarm-new"

// change replaces the content of the file by what edit makes of it, unless that is the
// same.
func (f File) change(edit func(src []byte) ([]byte, error)) error {
	name, err := f.resolve()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.Dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(f.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	unlock, err := lock(root, filepath.Dir(name))
	if err != nil {
		return fmt.Errorf("%s cannot be changed: %w", f.Path(), err)
	}
	defer unlock()
	src, info, err := read(root, name)
	if err != nil {
		return fmt.Errorf("%s cannot be changed: %w", f.Path(), err)
	}
	out, err := edit(src)
	if err != nil {
		return fmt.Errorf("%s is not changed: %w", f.Path(), err)
	}
	if bytes.Equal(src, out) {
		return nil
	}
	if len(out) > defs.MaxFileSize {
		return fmt.Errorf("%s is not changed: it would be larger than %d bytes", f.Path(), defs.MaxFileSize)
	}
	if err := replace(root, name, out, info); err != nil {
		return fmt.Errorf("%s cannot be written: %w", f.Path(), err)
	}
	return nil
}

// resolve returns the path below Dir of the file that Name means, which may be a
// link to another file below Dir.
func (f File) resolve() (string, error) {
	if _, err := os.Lstat(f.Path()); err != nil {
		return f.Name, nil // links of directories are followed as far as they stay below Dir
	}
	real, err := filepath.EvalSymlinks(f.Path())
	if err != nil {
		return "", fmt.Errorf("%s cannot be changed: %w", f.Path(), err)
	}
	dir, err := filepath.EvalSymlinks(f.Dir)
	if err != nil {
		return "", err
	}
	name, err := filepath.Rel(dir, real)
	if err != nil || !filepath.IsLocal(name) {
		return "", fmt.Errorf("%s is not changed: it is a link to %s, which is outside of %s; change that file yourself", f.Path(), real, f.Dir)
	}
	return name, nil
}

// lock makes a directory if it does not exist, and holds it against other changes until
// unlock.
func lock(root *os.Root, dir string) (unlock func() error, err error) {
	if err := root.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	d, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d.Close, nil
}

// read returns the content of a file, or nothing if it does not exist.
func read(root *os.Root, name string) (src []byte, info fs.FileInfo, err error) {
	info, err = root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	case !info.Mode().IsRegular():
		return nil, nil, errors.New("it is not a regular file")
	case info.Size() > defs.MaxFileSize:
		return nil, nil, fmt.Errorf("it is larger than %d bytes", defs.MaxFileSize)
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, nil, err
	}
	src, err = io.ReadAll(io.LimitReader(file, defs.MaxFileSize+1))
	return src, info, errors.Join(err, file.Close())
}

// replace puts a file in place at once, with the mode of the one before.
func replace(root *os.Root, name string, data []byte, before fs.FileInfo) error {
	// What is left of a change that was cut off; the directory is locked.
	if err := root.Remove(name + newSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := root.OpenFile(name+newSuffix, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if before != nil {
		err = adopt(file, before)
	}
	if err == nil {
		_, err = file.Write(data)
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, root.Remove(name+newSuffix))
	}
	return root.Rename(name+newSuffix, name)
}

// adopt gives a file the mode and the owner of another.
func adopt(file *os.File, before fs.FileInfo) error {
	if stat, ok := before.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		if err := file.Chown(int(stat.Uid), int(stat.Gid)); err != nil {
			return err
		}
	}
	return file.Chmod(before.Mode().Perm())
}
