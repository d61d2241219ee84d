package prompt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/actorswarm/swarm/defs"
)

// Limits of instruction files.
const (
	maxFile        = 4 << 20     // bytes; a larger file is skipped
	maxImportDepth = 4           // of imports
	maxAll         = 2 * maxFile // bytes of all files together
)

// reader collects instruction files.
type reader struct {
	o       Options
	project string // directory that a project's imports may not leave
	size    int
	seen    map[string]bool // real paths
	files   []File
	notes   []string
}

// File is a CLAUDE.md file that is in the prompts.
type File struct {
	Path string
	Kind string // Managed, User, Project or Local
}

// kindOf is the kind of a file.
func (r *reader) kindOf(path string) string {
	switch {
	case r.o.ManagedDir != "" && filepath.Dir(path) == r.o.ManagedDir:
		return "Managed"
	case filepath.Dir(path) == r.o.userDir():
		return "User"
	case filepath.Base(path) == "CLAUDE.local.md":
		return "Local"
	}
	return "Project"
}

// readInstructions reads all instruction files.
func readInstructions(o Options) read {
	if o.NoInstructions {
		return read{}
	}
	r := &reader{o: o, project: projectRoot(o.Cwd), seen: map[string]bool{}}
	var managed, all []string
	if o.ManagedDir != "" {
		managed = r.file(nil, filepath.Join(o.ManagedDir, "CLAUDE.md"), "the organisation's instructions", "")
	}
	all = slices.Clone(managed)
	if dir := o.userDir(); dir != "" {
		all = r.file(all, filepath.Join(dir, "CLAUDE.md"), "the user's own instructions for all projects", "")
	}
	all = r.projectFiles(all)
	return read{all: frame(all), managed: frame(managed), notes: r.notes, files: r.files}
}

func frame(files []string) string {
	if len(files) == 0 {
		return ""
	}
	return "Instructions from files. They were written for work in this place; follow them where they concern your task.\n\n" + strings.Join(files, "\n\n")
}

// projectFiles reads from the root of the file system down to the working directory. It
// reads AGENTS.md if there is no CLAUDE.md at all.
func (r *reader) projectFiles(all []string) []string {
	if r.o.Cwd == "" {
		return all
	}
	before := len(all)
	dirs := ancestors(r.o.Cwd)
	for _, dir := range dirs {
		n := len(all)
		all = r.file(all, filepath.Join(dir, "CLAUDE.md"), "instructions of the project", r.project)
		if len(all) == n {
			all = r.file(all, filepath.Join(dir, ".claude", "CLAUDE.md"), "instructions of the project", r.project)
		}
		all = r.file(all, filepath.Join(dir, "CLAUDE.local.md"), "the user's own instructions for this project", r.project)
	}
	if len(all) > before {
		return all
	}
	for _, dir := range dirs {
		all = r.file(all, filepath.Join(dir, "AGENTS.md"), "instructions of the project", r.project)
		all = r.file(all, filepath.Join(dir, ".claude", "AGENTS.md"), "instructions of the project", r.project)
	}
	return all
}

// ancestors returns dir and all directories above it, the root first.
func ancestors(dir string) []string {
	var out []string
	for ; ; dir = filepath.Dir(dir) {
		out = append(out, dir)
		if filepath.Dir(dir) == dir {
			slices.Reverse(out)
			return out
		}
	}
}

// projectRoot returns the repository that contains dir, or dir itself.
func projectRoot(dir string) string {
	if dir == "" {
		return ""
	}
	for _, d := range slices.Backward(ancestors(dir)) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return real(d)
		}
	}
	return real(dir)
}

func real(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return path
}

// file adds one file with its imports. within is the directory that the imports may not
// leave, or "".
func (r *reader) file(all []string, path, what, within string) []string {
	resolved := real(path)
	if r.seen[resolved] {
		return all
	}
	text, err := readText(path)
	if errors.Is(err, fs.ErrNotExist) {
		return all
	}
	if err != nil {
		r.note(path, 0, "is left out: %s", reason(err))
		return all
	}
	r.seen[resolved] = true
	if within != "" && inside(real(filepath.Dir(path)), within) && !inside(resolved, within) {
		r.note(path, 0, "is left out: it is a link to %s, outside the project", resolved)
		return all
	}
	if r.size += len(text); r.size > maxAll {
		r.note(path, 0, "is left out: the instructions together are larger than %d bytes; shorten them", maxAll)
		return all
	}
	text = r.imports(text, path, within, []string{resolved})
	if text = strings.TrimSpace(text); text == "" {
		return all
	}
	if filepath.Base(path) != "AGENTS.md" {
		r.files = append(r.files, File{path, r.kindOf(path)})
	}
	return append(all, fmt.Sprintf("Contents of %s (%s):\n\n%s", path, what, text))
}

func (r *reader) note(path string, line int, format string, args ...any) {
	if line > 0 {
		path = fmt.Sprintf("%s:%d", path, line)
	}
	r.notes = append(r.notes, path+": "+fmt.Sprintf(format, args...))
}

var (
	errTooLarge = fmt.Errorf("it is larger than %d bytes", maxFile)
	errNotText  = errors.New("it is not UTF-8 text")
)

// readText reads a text file and converts line ends to "\n".
func readText(path string) (string, error) {
	src, err := defs.ReadFile(path)
	switch {
	case err != nil:
		return "", err
	case len(src) > maxFile:
		return "", errTooLarge
	}
	text := strings.TrimPrefix(string(src), "\ufeff")
	if !utf8.ValidString(text) {
		return "", errNotText
	}
	return strings.ReplaceAll(text, "\r\n", "\n"), nil
}

// reason returns the error without the path, which the caller adds.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}
