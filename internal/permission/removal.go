package permission

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/internal/shell"
)

// criticalRemoval returns why a removal in the command is never approved
// automatically, or "".
func (c *call) criticalRemoval() string {
	for i := range c.shell.Commands {
		cmd := &c.shell.Commands[i]
		for _, w := range cmd.Removed() {
			if c.criticalWord(cmd, w) {
				return fmt.Sprintf("the command may remove %s", w.Unquoted())
			}
		}
	}
	return ""
}

// criticalWord reports whether w may name a critical path.
func (l location) criticalWord(cmd *shell.Command, w shell.Word) bool {
	if shell.MayBecomeRoot(w.Text) {
		return true
	}
	if strings.ContainsAny(w.Text, shell.ExpansionMarks) {
		return false
	}
	for _, t := range shell.Alternatives(w) {
		if l.criticalPath(cmd, t, w.Glob) {
			return true
		}
	}
	return false
}

func (l location) criticalPath(cmd *shell.Command, text string, isGlob bool) bool {
	if !strings.HasPrefix(text, "/") && len(cmd.Dirs) == 0 {
		// The directory is not known: only a name below it is harmless.
		clean := path.Clean(text)
		return clean == "." || strings.HasPrefix(clean, "..") || isGlob && strings.IndexAny(clean, "*?[") <= strings.LastIndexByte(clean, '/')+1 && !strings.Contains(clean, "/")
	}
	for _, p := range l.paths(cmd, shell.Word{Text: text, Literal: true}) {
		for _, f := range l.forms(p) {
			if l.criticalDir(f) || isGlob && l.globsCriticalDir(f) {
				return true
			}
		}
	}
	return false
}

// criticalDir reports whether p is the root or a child of it, the home directory, a
// working directory, or a directory above one of these.
func (l location) criticalDir(p string) bool {
	if p == "/" || filepath.Dir(p) == "/" || l.home != "" && l.within(filepath.Clean(l.home), p) {
		return true
	}
	return l.holdsWorkingDir(p)
}

// holdsWorkingDir reports whether p is a working directory or the current one, or above
// it.
func (l location) holdsWorkingDir(p string) bool {
	dirs := l.roots()
	if strings.HasPrefix(l.cwd, "/") {
		dirs = append(dirs, l.forms(filepath.Clean(l.cwd))...)
	}
	return slices.ContainsFunc(dirs, func(d string) bool { return l.within(d, p) })
}

// globsCriticalDir reports whether p has a wildcard for nearly everything in a critical
// directory.
func (l location) globsCriticalDir(p string) bool {
	for strings.ContainsAny(filepath.Dir(p), "*?[") {
		p = filepath.Dir(p)
	}
	return strings.ContainsAny(filepath.Base(p), "*?[") && l.criticalDir(filepath.Dir(p)) && matchesMost(filepath.Base(p))
}

// matchesMost reports a pattern that matches nearly all names: "*", ".*", "?*", not
// "*.o".
func matchesMost(pattern string) bool {
	return strings.Trim(pattern, "*?.[]!^") == ""
}
