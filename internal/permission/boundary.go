package permission

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/internal/shell"
)

// Boundary keeps an isolated agent's writes in its worktree.
type Boundary struct {
	// Worktree is the agent's directory, absolute and without symbolic links.
	Worktree string
	// Protected are the directories that must not be written to, except for what
	// lies in Worktree: the main checkout, the shared git directory, the worktrees
	// of other agents. They are absolute and without symbolic links.
	Protected []string
	// HardLinkTarget returns the protected file that an absolute path is a hard
	// link to, or "". If it fails, the call is refused. If it is nil, hard links
	// are not detected.
	HardLinkTarget func(path string) (string, error)
}

// boundaryCheck applies a Boundary to one call. Its methods named …Refusal return why
// something is refused, or "".
type boundaryCheck struct {
	location
	*Boundary
}

// checkBoundary refuses writes outside of the worktree, and commands whose writes
// cannot be traced. It comes before all rules and modes.
func (c *call) checkBoundary() (Decision, bool) {
	if c.policy.Boundary == nil {
		return Decision{}, false
	}
	b := boundaryCheck{c.location, c.policy.Boundary}
	var reason string
	switch c.effect {
	case editEffect:
		for _, t := range c.targets {
			if reason = b.writeRefusal(t); reason != "" {
				break
			}
		}
	case runEffect:
		reason = b.scriptRefusal(c.tool, c.shell)
	}
	if reason == "" {
		return Decision{}, false
	}
	return Decision{Behavior: Deny, Rule: "worktree isolation", Reason: fmt.Sprintf("%s; this agent works in the worktree %s only", reason, c.policy.Boundary.Worktree)}, true
}

// writeRefusal judges a path that would be written.
func (b boundaryCheck) writeRefusal(p string) string {
	for _, f := range b.forms(p) {
		if f == b.Worktree+"/.git" {
			return p + " ties the worktree to its repository"
		}
		if dir := b.protectedDir(f); dir != "" {
			return fmt.Sprintf("%s lies in %s, which is off limits", p, dir)
		}
	}
	if b.HardLinkTarget == nil {
		return ""
	}
	forms := b.forms(p)
	name, err := b.HardLinkTarget(forms[len(forms)-1])
	switch {
	case err != nil:
		return fmt.Sprintf("it cannot be found out whether %s is a link out of the worktree: %v", p, err)
	case name != "":
		return fmt.Sprintf("%s is a hard link to %s, which is off limits; replace it by a copy", p, name)
	}
	return ""
}

// protectedDir returns the protected directory that a path lies in, or "".
func (b boundaryCheck) protectedDir(p string) string {
	if b.within(p, b.Worktree) {
		return ""
	}
	if i := slices.IndexFunc(b.Protected, func(d string) bool { return b.within(p, d) }); i >= 0 {
		return b.Protected[i]
	}
	return ""
}

// scriptRefusal judges a whole shell command.
func (b boundaryCheck) scriptRefusal(tool string, script *shell.Script) string {
	if reason := b.directoryRefusal(b.cwd); reason != "" {
		return reason
	}
	if tool == "PowerShell" {
		return "" // its syntax is not known
	}
	if script.Err != nil {
		return fmt.Sprintf("where the command writes cannot be traced: %v; rewrite it in simpler parts", script.Err)
	}
	if script.Untraced != "" {
		return fmt.Sprintf("where the command writes cannot be traced: %s; rewrite it without that", script.Untraced)
	}
	for i := range script.Commands {
		if reason := b.commandRefusal(&script.Commands[i]); reason != "" {
			return reason
		}
	}
	return b.textRefusal(script)
}

// directoryRefusal judges a directory in which a command would run.
func (b boundaryCheck) directoryRefusal(dir string) string {
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

// commandRefusal judges a simple command.
func (b boundaryCheck) commandRefusal(cmd *shell.Command) string {
	for _, d := range cmd.Dirs {
		if reason := b.directoryRefusal(d); reason != "" {
			return reason
		}
	}
	if len(cmd.Words) > 0 && !cmd.Words[0].Fixed() {
		return fmt.Sprintf("where the command writes cannot be traced: the name of the program in %q is computed; write it out", cmd)
	}
	if reason := b.gitRefusal(cmd); reason != "" {
		return reason
	}
	if b.onlyReads(cmd) {
		return ""
	}
	if len(cmd.Dirs) == 0 && len(cmd.Words)+len(cmd.Redirects) > 0 {
		return fmt.Sprintf("the directory %q would run in cannot be verified; use paths from the worktree instead of changing directory", cmd)
	}
	return b.argumentRefusal(cmd)
}

// onlyReads reports whether cmd changes nothing, wherever it reads.
func (b boundaryCheck) onlyReads(cmd *shell.Command) bool {
	words, ok := shell.ReadOnly(cmd)
	return ok && (len(words) == 0 || path.Base(words[0].Text) != "git" || len(cmd.Dirs) > 0)
}

// argumentRefusal judges each part of a command that may be a path.
func (b boundaryCheck) argumentRefusal(cmd *shell.Command) string {
	words := slices.Clone(cmd.Words[min(1, len(cmd.Words)):])
	for _, r := range cmd.Redirects {
		words = append(words, r.Target)
	}
	for _, a := range cmd.Assigns {
		words = append(words, a.Value)
	}
	for _, w := range words {
		for _, part := range shell.PossiblePaths(w) {
			if strings.ContainsAny(part.Text, shell.ExpansionMarks) && strings.Contains(part.Text, "..") {
				return fmt.Sprintf("where %q leads cannot be traced; write the path out", w.Source)
			}
			for _, p := range b.paths(cmd, part) {
				if reason := b.writeRefusal(p); reason != "" {
					return reason
				}
			}
		}
	}
	return b.parentRefusal(cmd)
}

// parentRefusal refuses to change a directory that contains a protected one.
func (b boundaryCheck) parentRefusal(cmd *shell.Command) string {
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

// textRefusal refuses a command that names a protected directory anywhere, such as in
// the script of an interpreter, or asks git for its name, unless the whole command only
// reads.
func (b boundaryCheck) textRefusal(script *shell.Script) string {
	if !slices.ContainsFunc(script.Commands, func(cmd shell.Command) bool { return !b.onlyReads(&cmd) }) {
		return ""
	}
	for _, dir := range b.Protected {
		if dir != "/" && b.namesDir(script.Text, dir) {
			return fmt.Sprintf("the command names %s, which is off limits, and does more than read; read there in a command of its own", dir)
		}
	}
	if i := slices.IndexFunc(script.Commands, shell.PrintsRepository); i >= 0 {
		return fmt.Sprintf("%q gives the way to the main checkout, which is off limits, and the command does more than read; run it as a command of its own", &script.Commands[i])
	}
	return ""
}

// namesDir reports whether text contains dir as a path that does not lead to the
// worktree.
func (b boundaryCheck) namesDir(text, dir string) bool {
	tree := b.Worktree
	if b.foldCase {
		text, dir, tree = strings.ToLower(text), strings.ToLower(dir), strings.ToLower(tree)
	}
	for {
		i := strings.Index(text, dir)
		if i < 0 {
			return false
		}
		if text = text[i:]; endsName(text[len(dir):]) && !(strings.HasPrefix(text, tree) && endsName(text[len(tree):])) {
			return true
		}
		text = text[len(dir):]
	}
}

// endsName reports whether the last name of a path ends before rest.
func endsName(rest string) bool {
	return rest == "" || !isNameByte(rest[0])
}

func isNameByte(b byte) bool {
	return b == '_' || b == '-' || b == '.' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
}
