package permission

import (
	"path"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/internal/shell"
)

// readOnly reports whether cmd changes nothing and reads only in the working
// directories. Programs and arguments that are not known count as writing.
func (c *call) readOnly(cmd *shell.Command) bool {
	words, ok := shell.ReadOnly(cmd)
	if !ok || c.policy.Unconfined && !plain(cmd) {
		return false
	}
	for _, r := range cmd.Redirects {
		if r.Reads() && !c.mayRead(cmd, r.Target) {
			return false
		}
	}
	return len(words) == 0 || c.readsInWorkingDirs(cmd, words[0].Text, words[1:])
}

// plain reports a command of which each word is fixed.
func plain(cmd *shell.Command) bool {
	computed := func(w shell.Word) bool { return !w.Fixed() }
	return !slices.ContainsFunc(cmd.Words, computed) &&
		!slices.ContainsFunc(cmd.Assigns, func(a shell.Assign) bool { return computed(a.Value) }) &&
		!slices.ContainsFunc(cmd.Redirects, func(r shell.Redirect) bool { return computed(r.Target) })
}

// readsInWorkingDirs reports whether a program runs in a working directory and all
// paths in its arguments lie in one.
func (c *call) readsInWorkingDirs(cmd *shell.Command, name string, args []shell.Word) bool {
	if len(cmd.Dirs) == 0 || slices.ContainsFunc(cmd.Dirs, func(d string) bool { return !c.inWorkingDirs(d) }) {
		return !shell.ReadsDirectory(name)
	}
	switch name {
	case "echo", "printf", "seq", "basename", "dirname", "tr", "true", "false", ":", "test", "[", "which", "type", "command", "date", "sleep":
		return true
	case "cd":
		args = shell.CdOperands(args)
		return len(args) == 1 && c.every(cmd, args[0], c.inWorkingDirs)
	case "grep", "egrep", "fgrep", "rg", "sed", "jq":
		args = shell.AfterPattern(args)
	}
	return !slices.ContainsFunc(args, func(w shell.Word) bool { return !c.argumentInWorkingDirs(cmd, w) })
}

// argumentInWorkingDirs checks the part of an argument that may be a path. For a path
// with a wildcard it checks the directory before the wildcard.
func (c *call) argumentInWorkingDirs(cmd *shell.Command, w shell.Word) bool {
	t := shell.OptionValue(w).Text
	if !w.Literal {
		return true // shell.ReadOnly accepts harmless variables only
	}
	if strings.HasPrefix(w.Text, "-") && t == w.Text {
		if i := strings.IndexByte(t, '/'); i >= 0 {
			t = t[i:] // a short option joined with its value
		}
	}
	if w.Glob {
		if strings.Contains(t, "..") || c.hasFileRestrictions() {
			return false
		}
		t = path.Dir(t[:strings.IndexAny(t+"*", "*?[")] + "x")
	}
	if t == "" || t == "-" || shell.HarmlessDevice(shell.Word{Text: t, Literal: true}) {
		return true
	}
	if strings.HasPrefix(t, "//") {
		t = path.Clean(t)
	}
	for _, p := range c.paths(cmd, shell.Word{Text: t, Literal: true}) {
		if !c.inWorkingDirs(p) {
			return false
		}
	}
	return true
}

// hasFileRestrictions reports whether there are deny or ask rules for single files,
// which a wildcard might match.
func (c *call) hasFileRestrictions() bool {
	scoped := func(r Rule) bool { return (r.Tool == "Read" || r.Tool == "Edit") && !r.bare() }
	return slices.ContainsFunc(c.policy.Deny, scoped) || slices.ContainsFunc(c.policy.Ask, scoped)
}
