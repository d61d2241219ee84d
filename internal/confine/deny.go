package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/internal/sandbox"
)

// maxFiles bounds how many files are compared with the rules for one command, and maxDenied
// how many of them can be hidden from it.
const (
	maxFiles  = 100_000
	maxDenied = 1000
)

var errTooMany = errors.New("too many files")

// deny hides what rules deny from a profile, as the files are now.
func (c *Commands) deny(p *sandbox.Profile, denied denials) error {
	p.Hidden, p.Fixed = slices.Clone(p.Hidden), slices.Clone(p.Fixed)
	seen := 0
	for _, dir := range c.options.Place.Dirs {
		under := denied.below(dir, real(dir))
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // a directory that cannot be read cannot be read by the command
			}
			if seen++; seen > maxFiles || len(p.Denied) > maxDenied {
				return errTooMany
			}
			return under.file(p, path, e)
		})
		if errors.Is(err, errTooMany) && p.Name == sandbox.Open {
			return nil // a rule or a person has allowed the command, and what was found is hidden
		}
		if err != nil {
			return fmt.Errorf("rules deny some files, and %s has %w to hide them from a command that runs unasked; use Read, Grep and Glob", dir, err)
		}
	}
	return nil
}

// denials report what rules deny.
type denials func(path string, unasked bool) (read, change bool)

// below returns the denials for files below a directory that has another name too, and for
// what links there lead to.
func (d denials) below(dir, other string) entryDenials {
	return func(path string, e fs.DirEntry, unasked bool) (read, change bool) {
		names := []string{path}
		if rel, ok := strings.CutPrefix(path, dir); ok && other != dir {
			names = append(names, other+rel)
		}
		if e.Type()&fs.ModeSymlink != 0 {
			names = append(names, real(path))
		}
		for _, name := range names {
			r, c := d(name, unasked)
			read, change = read || r, change || c
		}
		return read, change
	}
}

// entryDenials report what rules deny of what is found in a directory.
type entryDenials func(path string, e fs.DirEntry, unasked bool) (read, change bool)

func (d entryDenials) file(p *sandbox.Profile, path string, e fs.DirEntry) error {
	if e.IsDir() && e.Name() == ".git" {
		return fs.SkipDir // what git keeps has other names
	}
	read, change := d(path, e, p.Name != sandbox.Open)
	switch {
	case read:
		p.Hidden = append(p.Hidden, real(path))
	case change && p.Name != sandbox.Inspect:
		p.Fixed = append(p.Fixed, sandbox.Fixed{Path: real(path), Dir: e.IsDir()})
	default:
		return nil
	}
	if p.Denied = append(p.Denied, real(path)); e.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func real(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}
