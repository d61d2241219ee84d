package defs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxDepth bounds how deep folders below .claude/agents are followed.
const maxDepth = 32

// walker lists the Markdown files below a directory in the order of their
// paths. Links are followed, each real directory once.
type walker struct {
	visit    func(dir string) // is called with each directory before it is read
	files    []string
	problems []Problem
	seen     map[string]string // real directory → path it was reached by
}

func (w *walker) complain(path, format string, args ...any) {
	w.problems = append(w.problems, Problem{Path: path, Text: fmt.Sprintf(format, args...), Fatal: true})
}

// root walks dir. A missing dir is no problem.
func (w *walker) root(dir string) {
	w.visit(dir)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		w.dir(dir, 0)
	}
}

func (w *walker) dir(dir string, depth int) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		w.complain(dir, "the directory cannot be read: %v", cause(err))
		return
	}
	if first, again := w.seen[real]; again {
		w.complain(dir, "a link leads back to %s, which is already read; remove the link", first)
		return
	}
	w.seen[real] = dir
	if depth > 0 {
		w.visit(dir)
	}
	if depth > maxDepth {
		w.complain(dir, "folders are nested more than %d deep; move the files up", maxDepth)
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		w.complain(dir, "the directory cannot be read: %v", cause(err))
	}
	for _, e := range entries {
		w.entry(filepath.Join(dir, e.Name()), e, depth)
	}
}

func (w *walker) entry(path string, e fs.DirEntry, depth int) {
	mode := e.Type()
	if mode&fs.ModeSymlink != 0 {
		info, err := os.Stat(path)
		if err != nil {
			w.complain(path, "the link leads nowhere: %v", cause(err))
			return
		}
		mode = info.Mode().Type()
	}
	isMarkdown := strings.EqualFold(filepath.Ext(path), ".md")
	switch {
	case mode.IsDir():
		if isMarkdown {
			w.problems = append(w.problems, Problem{Path: path, Text: "is a directory, although its name ends in .md; the files in it are read"})
		}
		w.dir(path, depth+1)
	case isMarkdown && mode.IsRegular():
		w.files = append(w.files, path)
	case isMarkdown:
		w.complain(path, "is not a regular file and is not opened")
	}
}

// ErrNotRegular is wrapped by ReadFile's error for what is no regular file.
var ErrNotRegular = errors.New("it is not a regular file")

// ReadFile reads a file that a repository may have brought: a regular one, and no more of
// it than MaxFileSize and one byte. It never waits, as reading a pipe would.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: ErrNotRegular}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // should a pipe have replaced it
	if err != nil {
		return nil, err
	}
	src, err := io.ReadAll(io.LimitReader(f, MaxFileSize+1))
	return src, errors.Join(err, f.Close())
}

// cause removes the path, which a Problem contains already.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
