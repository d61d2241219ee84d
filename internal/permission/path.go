package permission

import (
	"path/filepath"
	"slices"
	"strings"
)

// place is where a call is made: what paths mean there and where they lie.
type place struct {
	dirs     []string // the working directories
	home     string
	cwd      string
	resolve  func(path string) string // nil: paths are what they are called
	foldCase bool
}

func newPlace(p *Policy, r *Request) place {
	return place{dirs: p.Dirs, home: p.Home, cwd: r.Cwd, resolve: p.Resolve, foldCase: p.FoldCase}
}

// forms returns the ways a path is judged: as written and as resolved.
func (l place) forms(path string) []string {
	if l.resolve == nil {
		return []string{path}
	}
	if real := filepath.Clean(l.resolve(path)); real != path {
		return []string{path, real}
	}
	return []string{path}
}

// within reports whether path is dir or below it. Both are clean.
func (l place) within(path, dir string) bool {
	if l.foldCase {
		path, dir = strings.ToLower(path), strings.ToLower(dir)
	}
	if path == dir || dir == "/" {
		return true
	}
	return strings.HasPrefix(path, dir+"/")
}

// inside reports whether every form of path lies in a working directory.
func (l place) inside(path string) bool {
	roots := l.roots()
	for _, f := range l.forms(path) {
		if !slices.ContainsFunc(roots, func(d string) bool { return l.within(f, d) }) {
			return false
		}
	}
	return true
}

// roots returns the working directories in every form.
func (l place) roots() []string {
	var out []string
	for _, d := range l.dirs {
		if filepath.IsAbs(d) {
			out = append(out, l.forms(filepath.Clean(d))...)
		}
	}
	return out
}

func (c *call) targetsInside() bool {
	return len(c.targets) > 0 && !slices.ContainsFunc(c.targets, func(t string) bool { return !c.inside(t) })
}

// protectedTarget returns a path the call would write although it steers tools
// and shells, or "".
func (c *call) protectedTarget() string {
	var writes []string
	switch c.class {
	case edits:
		writes = c.targets
	case runs:
		writes = c.shellWrites()
	}
	for _, w := range writes {
		for _, f := range c.forms(w) {
			if isProtected(f) {
				return w
			}
		}
	}
	return ""
}

// isProtected compares without regard to case, for some file systems do.
func isProtected(path string) bool {
	parts := strings.Split(strings.ToLower(path), "/")
	for i, part := range parts {
		if protectedDir(part) && !(part == ".claude" && i+2 < len(parts) && parts[i+1] == "worktrees") {
			return true
		}
		if part == ".config" && i+1 < len(parts) && parts[i+1] == "git" {
			return true
		}
	}
	return protectedFile(parts[len(parts)-1])
}

func protectedDir(name string) bool {
	switch name {
	case ".git", ".vscode", ".idea", ".husky", ".cargo", ".devcontainer", ".yarn", ".mvn", ".claude", ".swarm", ".ssh":
		return true
	}
	return false
}

func protectedFile(name string) bool {
	switch name {
	case ".gitconfig", ".gitmodules", ".gitattributes", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases",
		".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".envrc", ".inputrc",
		".mcp.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pypirc", ".netrc", ".ripgreprc":
		return true
	}
	return false
}
