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
			if c.critical(cmd, w) {
				return fmt.Sprintf("the command may remove %s", w.Bare())
			}
		}
	}
	return ""
}

// critical reports a word that may name what nobody wants removed.
func (l place) critical(cmd *shell.Command, w shell.Word) bool {
	if shell.LeavesRoot(w.Text) {
		return true
	}
	if strings.ContainsAny(w.Text, shell.Marks) {
		return false
	}
	for _, t := range shell.Alternatives(w) {
		if l.criticalPath(cmd, t, w.Glob) {
			return true
		}
	}
	return false
}

func (l place) criticalPath(cmd *shell.Command, text string, isGlob bool) bool {
	if !strings.HasPrefix(text, "/") && len(cmd.Dirs) == 0 {
		// Where it runs is not known: only a plain name below is harmless.
		clean := path.Clean(text)
		return clean == "." || strings.HasPrefix(clean, "..") || isGlob && strings.IndexAny(clean, "*?[") <= strings.LastIndexByte(clean, '/')+1 && !strings.Contains(clean, "/")
	}
	for _, p := range l.paths(cmd, shell.Word{Text: text, Literal: true}) {
		for _, f := range l.forms(p) {
			if l.vital(f) || isGlob && l.globsVital(f) {
				return true
			}
		}
	}
	return false
}

// vital names the root and its children, the home directory, and the working
// directories and everything above them.
func (l place) vital(p string) bool {
	if p == "/" || filepath.Dir(p) == "/" || l.home != "" && l.within(filepath.Clean(l.home), p) {
		return true
	}
	return l.above(p)
}

// above reports a working or current directory, or one above it.
func (l place) above(p string) bool {
	dirs := l.roots()
	if strings.HasPrefix(l.cwd, "/") {
		dirs = append(dirs, l.forms(filepath.Clean(l.cwd))...)
	}
	return slices.ContainsFunc(dirs, func(d string) bool { return l.within(d, p) })
}

// globsVital reports a wildcard directly below a vital directory.
func (l place) globsVital(p string) bool {
	for strings.ContainsAny(filepath.Dir(p), "*?[") {
		p = filepath.Dir(p)
	}
	return strings.ContainsAny(filepath.Base(p), "*?[") && l.vital(filepath.Dir(p)) && broad(filepath.Base(p))
}

// broad reports a pattern that leaves little out: "*", ".*", "?*", not "*.o".
func broad(pattern string) bool {
	return strings.Trim(pattern, "*?.[]!^") == ""
}
