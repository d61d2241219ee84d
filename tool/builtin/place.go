package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const maxLinks = 40 // symbolic links followed before a loop is assumed, as Linux does

// place converts between the paths of a model and those of the machine.
type place struct {
	dir    string
	dirs   []string
	getenv func(string) string
}

// abs makes name absolute: against the working directory, or against HOME
// when it starts with "~/".
func (p place) abs(name string) (string, error) {
	if name == "" {
		return "", errors.New("the path is empty; name a file or folder")
	}
	if strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("the path %q holds a NUL character", name)
	}
	if rest, ok := strings.CutPrefix(name, "~/"); ok && p.getenv != nil && p.getenv("HOME") != "" {
		return filepath.Join(p.getenv("HOME"), rest), nil
	}
	if filepath.IsAbs(name) {
		return filepath.Clean(name), nil
	}
	return filepath.Join(p.dir, name), nil
}

// locate returns name as an absolute path and with its links followed.
func (p place) locate(name string) (path, real string, err error) {
	if path, err = p.abs(name); err != nil {
		return "", "", err
	}
	real, err = resolve(path)
	return path, real, err
}

// show shortens a path for a message: relative inside the working directory.
func (p place) show(path string) string {
	if rel, ok := within(p.dir, path); ok {
		return rel
	}
	return path
}

// within returns path relative to dir if it is dir or below it.
func within(dir, path string) (string, bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return rel, true
}

// resolve follows every link of an absolute path. What does not exist yet is
// kept as it is written, so that a file can be created through a dangling
// link or in a folder still to be made.
func resolve(path string) (string, error) {
	for range maxLinks {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			return real, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("follow the links of %s: %w", path, err)
		}
		parent, err := resolve(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		target, err := os.Readlink(path)
		if err != nil {
			return filepath.Join(parent, filepath.Base(path)), nil
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(parent, target)
		}
		path = filepath.Clean(target)
	}
	return "", fmt.Errorf("%s leads through more than %d links", path, maxLinks)
}

// missing reports that a file does not exist, and suggests similar ones.
func (p place) missing(path string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "there is no file %s; the working directory is %s", path, p.dir)
	if len(p.dirs) > 0 {
		fmt.Fprintf(&b, " (also readable: %s)", strings.Join(p.dirs, ", "))
	}
	if near := p.similar(path); near != "" {
		fmt.Fprintf(&b, ". Did you mean %s?", near)
	}
	return b.String()
}

// similar finds a file of the same folder whose name differs in letter case or
// extension only, or the same relative path below the working directory.
func (p place) similar(path string) string {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return ""
	}
	base := filepath.Base(path)
	stem := strings.TrimSuffix(base, filepath.Ext(base))
	for _, e := range entries {
		name := e.Name()
		if strings.EqualFold(name, base) || strings.EqualFold(strings.TrimSuffix(name, filepath.Ext(name)), stem) {
			return p.show(filepath.Join(filepath.Dir(path), name))
		}
	}
	return ""
}
