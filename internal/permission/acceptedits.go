package permission

import (
	"slices"
	"strings"

	"github.com/actorswarm/swarm/internal/shell"
)

// noRule is the rule of a decision that nothing else has made.
const noRule = "no rule"

// edits reports whether mode acceptEdits allows cmd: where nothing would hold it to that,
// it does not.
func (c *call) edits(cmd *shell.Command) bool {
	return c.policy.Mode == AcceptEdits && c.policy.NoEdits == "" && c.editsInWorkingDirs(cmd)
}

// unheld reports whether the command would be allowed if something held it to changing
// the working directories.
func (c *call) unheld() bool {
	if c.policy.NoEdits == "" || c.policy.Mode != AcceptEdits || c.shell == nil {
		return false
	}
	for i := range c.shell.Commands {
		if cmd := &c.shell.Commands[i]; !cmd.Hidden && !c.readOnly(cmd) && c.editsInWorkingDirs(cmd) {
			return true
		}
	}
	return false
}

// editsInWorkingDirs reports whether mode acceptEdits runs cmd: it is one of a few
// commands, and each of its operands lies in a working directory.
func (c *call) editsInWorkingDirs(cmd *shell.Command) bool {
	if !shell.SafeAssigns(cmd.Assigns) || len(cmd.Dirs) == 0 || !c.redirectsAllowed(cmd) {
		return false
	}
	words, assigns := shell.Strip(cmd.Words)
	if !shell.SafeAssigns(assigns) {
		return false
	}
	if len(words) == 0 {
		return true
	}
	if bare := *cmd; len(bare.Redirects) > 0 {
		bare.Redirects = nil
		if c.readOnly(&bare) {
			return true // its output goes to a file that acceptEdits may write
		}
	}
	if !words[0].Fixed() || slices.ContainsFunc(words[1:], func(w shell.Word) bool { return !w.Fixed() }) {
		return false
	}
	switch words[0].Text {
	case "mkdir", "rmdir":
		return c.operandsAre(c.inWorkingDirs, cmd, words)
	case "touch", "rm", "mv", "cp":
		if slices.ContainsFunc(words[1:], namesBackups) {
			return false
		}
		return c.operandsAre(func(p string) bool { return mayEditUnasked(c, p) }, cmd, words) && mayEditTree(c, cmd)
	case "sed":
		return c.sedInWorkingDirs(cmd, words)
	}
	return false
}

// namesBackups reports an option with which cp and mv copy what they overwrite to a name
// that is not an operand.
func namesBackups(w shell.Word) bool {
	if strings.HasPrefix(w.Text, "--") {
		return strings.HasPrefix(w.Text, "--b") || strings.HasPrefix(w.Text, "--su")
	}
	return strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "bS")
}

// operandsAre checks each operand and each value of an option. The name of a file that is
// copied or moved counts too, as it may be its name in a directory.
func (c *call) operandsAre(ok func(path string) bool, cmd *shell.Command, words []shell.Word) bool {
	operands := shell.Operands(words)
	for _, w := range words[1:] {
		// -t DIR joined: the directory follows the letter.
		if strings.HasPrefix(w.Text, "-t") && len(w.Text) > 2 {
			operands = append(operands, shell.Literal(w.Text[2:]))
		}
	}
	return len(operands) > 0 && !slices.ContainsFunc(operands, func(w shell.Word) bool { return !c.every(cmd, w, ok) })
}

// sedInWorkingDirs accepts sed -i if its script would be read-only without -i.
func (c *call) sedInWorkingDirs(cmd *shell.Command, words []shell.Word) bool {
	rest := []shell.Word{}
	for _, w := range words[1:] {
		if w.Text != "-i" && w.Text != "--in-place" {
			rest = append(rest, w)
		}
	}
	if !shell.SedPrints(rest) {
		return false
	}
	files := shell.AfterPattern(rest)
	return !slices.ContainsFunc(files, func(w shell.Word) bool {
		return !strings.HasPrefix(w.Text, "-") && !c.every(cmd, w, func(p string) bool { return mayEditUnasked(c, p) })
	})
}
