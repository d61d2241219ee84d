package teamfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/defs"
)

// Place is where team files are searched by name: in .claude/teams of Dir and of the
// directories above it up to the repository's, then of Home.
type Place struct{ Dir, Home string }

// NotFoundError reports a team for which there is no file.
type NotFoundError struct {
	Name  string
	Dirs  []string // that were searched
	Known []string // names of the teams that are there
}

func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("there is no team file %s.yaml in %s", e.Name, strings.Join(e.Dirs, " or "))
	if len(e.Known) > 0 {
		text += "; the teams there are: " + strings.Join(e.Known, ", ")
	}
	return text
}

// Load reads the team that a name or the path of a file means, and those that
// its members lead. What is written with a slash or ends in .yaml or .yml is a
// path, seen from Dir.
func (p Place) Load(name string) (Team, error) { return p.load(name, nil) }

func (p Place) load(name string, above []string) (Team, error) {
	path, err := p.path(name)
	if err != nil {
		return Team{}, err
	}
	if slices.Contains(above, path) {
		return Team{}, fmt.Errorf("%s leads itself, by way of others", path)
	}
	src, err := defs.ReadFile(path)
	switch {
	case len(src) > defs.MaxFileSize:
		return Team{}, fmt.Errorf("the team file %s is larger than %d bytes", path, defs.MaxFileSize)
	case err != nil:
		return Team{}, fmt.Errorf("the team file cannot be read: %w", err)
	}
	return Parse(path, src, func(name string) (*Team, error) {
		t, err := p.load(name, append(above, path))
		return &t, err
	})
}

func (p Place) path(name string) (string, error) {
	if strings.Contains(name, "/") || isTeamFile(name) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		return filepath.Clean(name), nil
	}
	dirs := p.Dirs()
	for _, dir := range dirs {
		for _, ext := range []string{".yaml", ".yml"} {
			path := filepath.Join(dir, name+ext)
			if _, err := os.Stat(path); err == nil {
				return path, nil
			} else if !errors.Is(err, fs.ErrNotExist) {
				return "", fmt.Errorf("look for team %s: %w", name, err)
			}
		}
	}
	return "", &NotFoundError{Name: name, Dirs: dirs, Known: p.Names()}
}

func isTeamFile(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".yaml" || ext == ".yml"
}

// Dirs returns the directories that are searched, the nearest first.
func (p Place) Dirs() []string {
	var all []string
	for dir := p.Dir; ; dir = filepath.Dir(dir) {
		all = append(all, filepath.Join(dir, ".claude", "teams"))
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil || dir == filepath.Dir(dir) || dir == p.Home {
			break
		}
	}
	if user := filepath.Join(p.Home, ".claude", "teams"); p.Home != "" && !slices.Contains(all, user) {
		all = append(all, user)
	}
	return all
}

// Names returns the names of the teams that have a file, in order.
func (p Place) Names() []string {
	var all []string
	for _, dir := range p.Dirs() {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // most have none
		}
		for _, e := range entries {
			if isTeamFile(e.Name()) && !e.IsDir() {
				all = append(all, strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())))
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
