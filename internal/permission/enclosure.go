package permission

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/internal/shell"
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

// boundary is an Enclosure in the place of one call.
type boundary struct {
	place
	*Enclosure
}

// enclosed refuses what would leave the worktree or cannot be followed. It
// comes before every rule and mode.
func (c *call) enclosed() (Decision, bool) {
	if c.p.Enclosure == nil {
		return Decision{}, false
	}
	b := boundary{c.place, c.p.Enclosure}
	var why string
	switch c.class {
	case edits:
		for _, t := range c.targets {
			if why = b.offLimits(t); why != "" {
				break
			}
		}
	case runs:
		why = b.commandLeaves(c.tool, c.shell)
	}
	if why == "" {
		return Decision{}, false
	}
	return Decision{Deny, "worktree isolation", fmt.Sprintf("%s; this agent works in the worktree %s only", why, c.p.Enclosure.Tree)}, true
}

// offLimits says why a path must not be written, or "".
func (b boundary) offLimits(p string) string {
	for _, f := range b.forms(p) {
		if f == b.Tree+"/.git" {
			return p + " ties the worktree to its repository"
		}
		if dir := b.protectedDir(f); dir != "" {
			return fmt.Sprintf("%s lies in %s, which is off limits", p, dir)
		}
	}
	if b.Linked == nil {
		return ""
	}
	forms := b.forms(p)
	name, err := b.Linked(forms[len(forms)-1])
	switch {
	case err != nil:
		return fmt.Sprintf("it cannot be found out whether %s is a link out of the worktree: %v", p, err)
	case name != "":
		return fmt.Sprintf("%s is a hard link to %s, which is off limits; replace it by a copy", p, name)
	}
	return ""
}

// protectedDir returns the protected directory that a path lies in, or "".
func (b boundary) protectedDir(p string) string {
	if b.within(p, b.Tree) {
		return ""
	}
	if i := slices.IndexFunc(b.Protected, func(d string) bool { return b.within(p, d) }); i >= 0 {
		return b.Protected[i]
	}
	return ""
}

// commandLeaves says why a shell command is refused, or "".
func (b boundary) commandLeaves(tool string, script *shell.Script) string {
	if why := b.standsOutside(b.cwd); why != "" {
		return why
	}
	if tool == "PowerShell" {
		return "" // nothing more can be said about it
	}
	if script.Err != nil {
		return fmt.Sprintf("where the command writes cannot be traced: %v; rewrite it in simpler parts", script.Err)
	}
	if script.Untraced != "" {
		return fmt.Sprintf("where the command writes cannot be traced: %s; rewrite it without that", script.Untraced)
	}
	for i := range script.Commands {
		if why := b.partLeaves(&script.Commands[i]); why != "" {
			return why
		}
	}
	return b.mentions(script)
}

// standsOutside says why nothing may run in a directory, or "".
func (b boundary) standsOutside(dir string) string {
	if !filepath.IsAbs(dir) {
		return "the directory the command would run in cannot be verified"
	}
	for _, f := range b.forms(filepath.Clean(dir)) {
		if d := b.protectedDir(f); d != "" {
			return fmt.Sprintf("the command would run in %s, which is off limits; read files there by their absolute path", d)
		}
	}
	return ""
}

// partLeaves judges one simple command.
func (b boundary) partLeaves(cmd *shell.Command) string {
	for _, d := range cmd.Dirs {
		if why := b.standsOutside(d); why != "" {
			return why
		}
	}
	if len(cmd.Words) > 0 && !cmd.Words[0].Fixed() {
		return fmt.Sprintf("where the command writes cannot be traced: the name of the program in %q is computed; write it out", cmd)
	}
	if why := b.redirectsGit(cmd); why != "" {
		return why
	}
	if b.onlyLooks(cmd) {
		return ""
	}
	if len(cmd.Dirs) == 0 && len(cmd.Words)+len(cmd.Redirects) > 0 {
		return fmt.Sprintf("the directory %q would run in cannot be verified; use paths from the worktree instead of changing directory", cmd)
	}
	return b.writesOutside(cmd)
}

// onlyLooks reports a command that changes nothing, wherever it reads.
func (b boundary) onlyLooks(cmd *shell.Command) bool {
	words, ok := shell.ReadOnly(cmd)
	return ok && (len(words) == 0 || path.Base(words[0].Text) != "git" || len(cmd.Dirs) > 0)
}

// writesOutside looks at everything in a command that may be a path.
func (b boundary) writesOutside(cmd *shell.Command) string {
	words := slices.Clone(cmd.Words[min(1, len(cmd.Words)):])
	for _, r := range cmd.Redirects {
		words = append(words, r.Target)
	}
	for _, a := range cmd.Assigns {
		words = append(words, a.Value)
	}
	for _, w := range words {
		for _, part := range shell.PathsIn(w) {
			if strings.ContainsAny(part.Text, shell.Marks) && strings.Contains(part.Text, "..") {
				return fmt.Sprintf("where %q leads cannot be traced; write the path out", w.Source)
			}
			for _, p := range b.paths(cmd, part) {
				if why := b.offLimits(p); why != "" {
					return why
				}
			}
		}
	}
	return b.uproots(cmd)
}

// uproots refuses to change a directory that holds a protected one.
func (b boundary) uproots(cmd *shell.Command) string {
	for _, w := range cmd.Written() {
		for _, p := range b.paths(cmd, w) {
			for _, f := range b.forms(p) {
				if i := slices.IndexFunc(b.Protected, func(d string) bool { return b.within(d, f) }); i >= 0 {
					return fmt.Sprintf("%s holds %s, which is off limits", p, b.Protected[i])
				}
			}
		}
	}
	return ""
}

// mentions refuses a command that names a protected directory anywhere, in the
// script of an interpreter for one, or asks git for its name, unless all of it
// only looks.
func (b boundary) mentions(script *shell.Script) string {
	if !slices.ContainsFunc(script.Commands, func(cmd shell.Command) bool { return !b.onlyLooks(&cmd) }) {
		return ""
	}
	for _, dir := range b.Protected {
		if dir != "/" && b.names(script.Text, dir) {
			return fmt.Sprintf("the command names %s, which is off limits, and does more than read; read there in a command of its own", dir)
		}
	}
	if i := slices.IndexFunc(script.Commands, shell.PrintsRepository); i >= 0 {
		return fmt.Sprintf("%q gives the way to the main checkout, which is off limits, and the command does more than read; run it as a command of its own", &script.Commands[i])
	}
	return ""
}

// names reports whether text holds dir as a path that does not lead to the worktree.
func (b boundary) names(text, dir string) bool {
	tree := b.Tree
	if b.foldCase {
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
