package builtin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/actorswarm/swarm/internal/nolink"
	"github.com/actorswarm/swarm/tool"
)

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

// locate returns the path that a call names as an absolute path and with its links
// followed, as they were when the call was decided about.
func (p place) locate(c tool.Call, name string) (path, real string, err error) {
	if path, err = p.abs(name); err != nil {
		return "", "", err
	}
	if real, ok := c.Paths[path]; ok {
		return path, real, nil
	}
	real, err = nolink.Resolve(path)
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
