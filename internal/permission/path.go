package permission

import (
	"path/filepath"
	"slices"
	"strings"
)

// location holds the directories that give the paths of a call their meaning.
type location struct {
	dirs     []string // the working directories
	home     string
	cwd      string
	resolve  func(path string) string // may be nil
	foldCase bool
}

func newLocation(p *Policy, r *Request) location {
	return location{dirs: p.Dirs, home: p.Home, cwd: r.Cwd, resolve: p.Resolve, foldCase: p.FoldCase}
}

// forms returns a path as written and, if that differs, as resolved.
func (l location) forms(path string) []string {
	if l.resolve == nil {
		return []string{path}
	}
	if real := filepath.Clean(l.resolve(path)); real != path {
		return []string{path, real}
	}
	return []string{path}
}

// within reports whether path is dir or below it. Both must be clean.
func (l location) within(path, dir string) bool {
	if l.foldCase {
		path, dir = strings.ToLower(path), strings.ToLower(dir)
	}
	if path == dir || dir == "/" {
		return true
	}
	return strings.HasPrefix(path, dir+"/")
}

// inWorkingDirs reports whether each form of path lies in a working directory.
func (l location) inWorkingDirs(path string) bool {
	roots := l.roots()
	for _, f := range l.forms(path) {
		if !slices.ContainsFunc(roots, func(d string) bool { return l.within(f, d) }) {
			return false
		}
	}
	return true
}

// roots returns the working directories in all their forms.
func (l location) roots() []string {
	var out []string
	for _, d := range l.dirs {
		if filepath.IsAbs(d) {
			out = append(out, l.forms(filepath.Clean(d))...)
		}
	}
	return out
}

func (c *call) targetsInWorkingDirs() bool {
	return len(c.targets) > 0 && !slices.ContainsFunc(c.targets, func(t string) bool { return !c.inWorkingDirs(t) })
}

// protectedTarget returns a protected path that the call would write, or "".
func (c *call) protectedTarget() string {
	var writes []string
	switch c.effect {
	case editEffect:
		writes = c.targets
	case runEffect:
		writes = append(c.shellWrites(), treeChanges(c)...)
		if c.policy.Mode == AcceptEdits {
			writes = append(writes, treeRemovals(c)...)
		}
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

// isProtected reports whether path configures tools or shells. It ignores case, as
// some file systems do.
func isProtected(path string) bool {
	parts := strings.Split(strings.ToLower(path), "/")
	for i, part := range parts {
		if protectedDirName(part) && !(part == ".claude" && i+2 < len(parts) && parts[i+1] == "worktrees") {
			return true
		}
		if part == ".config" && i+1 < len(parts) && parts[i+1] == "git" {
			return true
		}
	}
	return protectedFileName(parts[len(parts)-1])
}

func protectedDirName(name string) bool {
	switch name {
	case ".git", ".vscode", ".idea", ".husky", ".cargo", ".devcontainer", ".yarn", ".mvn", ".claude", ".swarm", ".ssh":
		return true
	}
	return false
}

func protectedFileName(name string) bool {
	switch name {
	case ".gitconfig", ".gitmodules", ".gitattributes", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases",
		".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".envrc", ".inputrc",
		".mcp.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".pypirc", ".netrc", ".ripgreprc":
		return true
	}
	return false
}
