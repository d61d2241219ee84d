package permission

import (
	"path/filepath"
	"slices"
	"strings"
)

// forms returns the ways a path is judged: as written and as resolved.
func (c *call) forms(path string) []string {
	if c.p.Resolve == nil {
		return []string{path}
	}
	if real := filepath.Clean(c.p.Resolve(path)); real != path {
		return []string{path, real}
	}
	return []string{path}
}

// within reports whether path is dir or below it. Both are clean.
func (c *call) within(path, dir string) bool {
	if c.p.FoldCase {
		path, dir = strings.ToLower(path), strings.ToLower(dir)
	}
	if path == dir || dir == "/" {
		return true
	}
	return strings.HasPrefix(path, dir+"/")
}

// inside reports whether every form of path lies in a working directory.
func (c *call) inside(path string) bool {
	roots := c.roots()
	for _, f := range c.forms(path) {
		if !slices.ContainsFunc(roots, func(d string) bool { return c.within(f, d) }) {
			return false
		}
	}
	return true
}

// roots returns the working directories in every form.
func (c *call) roots() []string {
	var out []string
	for _, d := range c.p.Dirs {
		if filepath.IsAbs(d) {
			out = append(out, c.forms(filepath.Clean(d))...)
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
