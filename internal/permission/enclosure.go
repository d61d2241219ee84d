package permission

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Enclosure keeps an isolated agent's writes in its worktree.
type Enclosure struct {
	// Tree is the worktree. Absolute and real.
	Tree string
	// Protected are the directories to keep out of, but for what lies in Tree:
	// the main checkout, the shared git directory, the siblings' worktrees.
	// Absolute and real.
	Protected []string
	// Linked returns the protected file that an absolute path is a hard link
	// to, or "". If it fails the call is refused. Nil: links are not looked for.
	Linked func(path string) (string, error)
}

// enclosed refuses what would leave the worktree or cannot be followed. It
// comes before every rule and mode.
func (c *call) enclosed() (Decision, bool) {
	if c.p.Enclosure == nil {
		return Decision{}, false
	}
	var why string
	switch c.class {
	case edits:
		for _, t := range c.targets {
			if why = c.offLimits(t); why != "" {
				break
			}
		}
	case runs:
		why = c.commandLeaves()
	}
	if why == "" {
		return Decision{}, false
	}
	return Decision{Deny, "worktree isolation", fmt.Sprintf("%s; this agent works in the worktree %s only", why, c.p.Enclosure.Tree)}, true
}

// offLimits says why a path must not be written, or "".
func (c *call) offLimits(p string) string {
	e := c.p.Enclosure
	for _, f := range c.forms(p) {
		if f == e.Tree+"/.git" {
			return p + " ties the worktree to its repository"
		}
		if dir := c.protectedDir(f); dir != "" {
			return fmt.Sprintf("%s lies in %s, which is off limits", p, dir)
		}
	}
	if e.Linked == nil {
		return ""
	}
	forms := c.forms(p)
	name, err := e.Linked(forms[len(forms)-1])
	switch {
	case err != nil:
		return fmt.Sprintf("it cannot be found out whether %s is a link out of the worktree: %v", p, err)
	case name != "":
		return fmt.Sprintf("%s is a hard link to %s, which is off limits; replace it by a copy", p, name)
	}
	return ""
}

// protectedDir returns the protected directory that a path lies in, or "".
func (c *call) protectedDir(p string) string {
	e := c.p.Enclosure
	if c.within(p, e.Tree) {
		return ""
	}
	if i := slices.IndexFunc(e.Protected, func(d string) bool { return c.within(p, d) }); i >= 0 {
		return e.Protected[i]
	}
	return ""
}

// commandLeaves says why a shell command is refused, or "".
func (c *call) commandLeaves() string {
	if why := c.standsOutside(c.r.Cwd); why != "" {
		return why
	}
	if c.tool == "PowerShell" {
		return "" // nothing more can be said about it
	}
	if c.shell.err != nil {
		return fmt.Sprintf("where the command writes cannot be traced: %v; rewrite it in simpler parts", c.shell.err)
	}
	if c.shell.untraced != "" {
		return fmt.Sprintf("where the command writes cannot be traced: %s; rewrite it without that", c.shell.untraced)
	}
	for i := range c.shell.cmds {
		if why := c.partLeaves(&c.shell.cmds[i]); why != "" {
			return why
		}
	}
	return c.mentions()
}

// standsOutside says why nothing may run in a directory, or "".
func (c *call) standsOutside(dir string) string {
	if !filepath.IsAbs(dir) {
		return "the directory the command would run in cannot be verified"
	}
	for _, f := range c.forms(filepath.Clean(dir)) {
		if d := c.protectedDir(f); d != "" {
			return fmt.Sprintf("the command would run in %s, which is off limits; read files there by their absolute path", d)
		}
	}
	return ""
}

// partLeaves judges one simple command.
func (c *call) partLeaves(cmd *command) string {
	for _, d := range cmd.cwds {
		if why := c.standsOutside(d); why != "" {
			return why
		}
	}
	if len(cmd.words) > 0 && !cmd.words[0].fixed() {
		return fmt.Sprintf("where the command writes cannot be traced: the name of the program in %q is computed; write it out", cmd)
	}
	if why := c.redirectsGit(cmd); why != "" {
		return why
	}
	if c.onlyLooks(cmd) {
		return ""
	}
	if len(cmd.cwds) == 0 && len(cmd.words)+len(cmd.redirs) > 0 {
		return fmt.Sprintf("the directory %q would run in cannot be verified; use paths from the worktree instead of changing directory", cmd)
	}
	return c.writesOutside(cmd)
}

// onlyLooks reports a command that changes nothing, wherever it reads.
func (c *call) onlyLooks(cmd *command) bool {
	words, ok := readOnlyShape(cmd)
	return ok && (len(words) == 0 || path.Base(words[0].text) != "git" || len(cmd.cwds) > 0)
}

// writesOutside looks at everything in a command that may be a path.
func (c *call) writesOutside(cmd *command) string {
	words := slices.Clone(cmd.words[min(1, len(cmd.words)):])
	for _, r := range cmd.redirs {
		words = append(words, r.target)
	}
	for _, a := range cmd.assigns {
		words = append(words, a.value)
	}
	for _, w := range words {
		for _, part := range pathsIn(w) {
			if strings.ContainsAny(part.text, "\x00\x01") && strings.Contains(part.text, "..") {
				return fmt.Sprintf("where %q leads cannot be traced; write the path out", w.src)
			}
			for _, p := range c.paths(cmd, part) {
				if why := c.offLimits(p); why != "" {
					return why
				}
			}
		}
	}
	return c.uproots(cmd)
}

// uproots refuses to change a directory that holds a protected one.
func (c *call) uproots(cmd *command) string {
	for _, w := range cmd.written() {
		for _, p := range c.paths(cmd, w) {
			for _, f := range c.forms(p) {
				if i := slices.IndexFunc(c.p.Enclosure.Protected, func(d string) bool { return c.within(d, f) }); i >= 0 {
					return fmt.Sprintf("%s holds %s, which is off limits", p, c.p.Enclosure.Protected[i])
				}
			}
		}
	}
	return ""
}

// pathsIn returns what in a word may be a path: all of it, what follows an
// option's letter, what follows a "=".
func pathsIn(w word) []word {
	out := []word{w}
	part := func(text string) {
		w.text = text
		out = append(out, w)
	}
	if _, value, ok := strings.Cut(w.text, "="); ok {
		part(value)
	} else if len(w.text) > 2 && w.text[0] == '-' && w.text[1] != '-' {
		part(w.text[2:])
	}
	return out
}

// mentions refuses a command that names a protected directory anywhere, in the
// script of an interpreter for one, or asks git for its name, unless all of it
// only looks.
func (c *call) mentions() string {
	if !slices.ContainsFunc(c.shell.cmds, func(cmd command) bool { return !c.onlyLooks(&cmd) }) {
		return ""
	}
	for _, dir := range c.p.Enclosure.Protected {
		if dir != "/" && c.names(c.shell.text, dir) {
			return fmt.Sprintf("the command names %s, which is off limits, and does more than read; read there in a command of its own", dir)
		}
	}
	if i := slices.IndexFunc(c.shell.cmds, asksForMain); i >= 0 {
		return fmt.Sprintf("%q gives the way to the main checkout, which is off limits, and the command does more than read; run it as a command of its own", &c.shell.cmds[i])
	}
	return ""
}

// asksForMain reports a command that prints where the main checkout is.
func asksForMain(cmd command) bool {
	words, _ := strip(cmd.words)
	if len(words) == 0 {
		return false
	}
	if path.Base(words[0].text) != "git" {
		return slices.ContainsFunc(append(slices.Clone(words[1:]), targets(cmd)...), func(w word) bool { return path.Base(w.text) == ".git" })
	}
	args := words[1:]
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		_, _, args = gitOption(args)
	}
	if len(args) == 0 {
		return false
	}
	return args[0].text == "worktree" || args[0].text == "rev-parse" &&
		hasOption(args[1:], "", "git-dir", "absolute-git-dir", "git-common-dir", "git-path", "shared-index-path")
}

func targets(cmd command) (words []word) {
	for _, r := range cmd.redirs {
		words = append(words, r.target)
	}
	return words
}

// names reports whether text holds dir as a path that does not lead to the worktree.
func (c *call) names(text, dir string) bool {
	tree := c.p.Enclosure.Tree
	if c.p.FoldCase {
		text, dir, tree = strings.ToLower(text), strings.ToLower(dir), strings.ToLower(tree)
	}
	for {
		i := strings.Index(text, dir)
		if i < 0 {
			return false
		}
		if text = text[i:]; endsPath(text[len(dir):]) && !(strings.HasPrefix(text, tree) && endsPath(text[len(tree):])) {
			return true
		}
		text = text[len(dir):]
	}
}

// endsPath reports that what follows a path does not make its last name longer.
func endsPath(rest string) bool {
	return rest == "" || !isNameByte(rest[0])
}

func isNameByte(b byte) bool {
	return b == '_' || b == '-' || b == '.' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}
