package permission

import (
	"slices"
	"strings"

	"github.com/actorswarm/swarm/internal/shell"
)

// likelyReads reports whether every part of the command probably reads. That is enough
// where the profile inspect holds any program: a wrong guess costs a denied access. It is
// not enough for a part of a command that runs under another profile.
func (c *call) likelyReads() bool {
	if !c.policy.Contained || c.policy.Unconfined || !c.shell.ShowsButArithmetic() {
		return false
	}
	for i := range c.shell.Commands {
		if cmd := &c.shell.Commands[i]; !cmd.Hidden && !c.readOnly(cmd) && !partLikelyReads(c, cmd) {
			return false
		}
	}
	return true
}

// partLikelyReads also has a person asked about what is written out and would be denied.
func partLikelyReads(c *call, cmd *shell.Command) bool {
	if !shell.LikelyReads(cmd, c.shell.Text) {
		return false
	}
	if slices.ContainsFunc(cmd.Redirects, func(r shell.Redirect) bool { return r.Reads() && r.Target.Fixed() && !c.mayRead(cmd, r.Target) }) {
		return false
	}
	if len(cmd.Words) == 0 {
		return true
	}
	words := cmd.Words
	if rest, _ := shell.Strip(words); len(rest) > 0 {
		words = rest
	}
	name, args := words[0].Text, words[1:]
	return c.readsInWorkingDirs(cmd, name, writtenOut(name, args))
}

// writtenOut returns the arguments that may be paths and are known.
func writtenOut(name string, args []shell.Word) (known []shell.Word) {
	for _, w := range args {
		switch {
		case isSystemFile(w.Text), strings.HasPrefix(w.Text, "-") && strings.HasSuffix(w.Text, "/"): // a delimiter, as in cut -d/
		case shell.ProgramText(name) && strings.ContainsAny(w.Text, " {(;$"):
		case strings.HasPrefix(w.Source, "~") && !w.Literal:
			known = append(known, shell.Literal("/")) // another home
		case w.Literal:
			for _, text := range shell.Alternatives(w) {
				one := shell.Literal(text)
				one.Glob = w.Glob
				known = append(known, one)
			}
		}
	}
	return known
}

// isSystemFile reports files that describe the machine, and hold nothing of a user.
func isSystemFile(path string) bool {
	switch path {
	case "/etc/os-release", "/etc/lsb-release", "/etc/debian_version", "/proc/cpuinfo", "/proc/meminfo", "/proc/version", "/proc/loadavg", "/proc/uptime":
		return true
	}
	return false
}
