package permission

import (
	"path"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/internal/shell"
)

// readOnly reports a simple command that changes nothing and reads only inside
// the working directories. It knows programs by a grammar of their arguments;
// whatever it does not know is not read-only.
func (c *call) readOnly(cmd *shell.Command) bool {
	words, ok := shell.ReadOnly(cmd)
	if !ok {
		return false
	}
	for _, r := range cmd.Redirects {
		if r.Reads() && !c.mayRead(cmd, r.Target) {
			return false
		}
	}
	return len(words) == 0 || c.readsInside(cmd, words[0].Text, words[1:])
}

// readsInside reports whether every path a program is given lies in a working
// directory, and whether it runs in one.
func (c *call) readsInside(cmd *shell.Command, name string, args []shell.Word) bool {
	if len(cmd.Dirs) == 0 || slices.ContainsFunc(cmd.Dirs, func(d string) bool { return !c.inside(d) }) {
		return !shell.UsesDirectory(name)
	}
	switch name {
	case "echo", "printf", "seq", "basename", "dirname", "tr", "true", "false", ":", "test", "[", "which", "type", "command", "date", "sleep":
		return true
	case "cd":
		args = shell.CdOperands(args)
		return len(args) == 1 && c.every(cmd, args[0], c.inside)
	case "grep", "egrep", "fgrep", "rg", "sed", "jq":
		args = shell.AfterPattern(args)
	}
	return !slices.ContainsFunc(args, func(w shell.Word) bool { return !c.argumentInside(cmd, w) })
}

// argumentInside judges the part of an argument that may be a path. A path with
// a wildcard is judged by the directory before it.
func (c *call) argumentInside(cmd *shell.Command, w shell.Word) bool {
	t := shell.OptionValue(w).Text
	if !w.Literal {
		return true // harmlessValue
	}
	if strings.HasPrefix(w.Text, "-") && t == w.Text {
		if i := strings.IndexByte(t, '/'); i >= 0 {
			t = t[i:] // a short option joined with its value
		}
	}
	if w.Glob {
		if strings.Contains(t, "..") || c.judgesPaths() {
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
		if !c.inside(p) {
			return false
		}
	}
	return true
}

// judgesPaths reports deny or ask rules about single files, which a wildcard
// might reach.
func (c *call) judgesPaths() bool {
	scoped := func(r Rule) bool { return (r.Tool == "Read" || r.Tool == "Edit") && !r.bare() }
	return slices.ContainsFunc(c.p.Deny, scoped) || slices.ContainsFunc(c.p.Ask, scoped)
}
