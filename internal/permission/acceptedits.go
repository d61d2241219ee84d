package permission

import (
	"slices"
	"strings"
)

// editsInside reports a command of the acceptEdits set whose every operand lies
// in a working directory.
func (c *call) editsInside(cmd *command) bool {
	if !safeAssigns(cmd.assigns) || len(cmd.cwds) == 0 || !c.redirectsAllowed(cmd) {
		return false
	}
	words, assigns := strip(cmd.words)
	if !safeAssigns(assigns) {
		return false
	}
	if len(words) == 0 {
		return true
	}
	if bare := *cmd; len(bare.redirs) > 0 {
		bare.redirs = nil
		if c.readOnly(&bare) {
			return true // its output goes to a file that may be written
		}
	}
	if !words[0].fixed() || slices.ContainsFunc(words[1:], func(w word) bool { return !w.fixed() }) {
		return false
	}
	switch words[0].text {
	case "mkdir", "touch", "rm", "rmdir", "mv", "cp":
		return c.operandsInside(cmd, words)
	case "sed":
		return c.sedInside(cmd, words)
	}
	return false
}

// operandsInside judges every operand and every value of an option.
func (c *call) operandsInside(cmd *command, words []word) bool {
	operands := operandsOf(words)
	for _, w := range words[1:] {
		// -t DIR joined: the directory follows the letter.
		if strings.HasPrefix(w.text, "-t") && len(w.text) > 2 {
			operands = append(operands, literal(w.text[2:]))
		}
	}
	return len(operands) > 0 && !slices.ContainsFunc(operands, func(w word) bool { return !c.every(cmd, w, c.inside) })
}

// sedInside accepts sed -i with the scripts that are read-only without it.
func (c *call) sedInside(cmd *command, words []word) bool {
	rest := []word{}
	for _, w := range words[1:] {
		if w.text != "-i" && w.text != "--in-place" {
			rest = append(rest, w)
		}
	}
	if !printsOnly(rest) {
		return false
	}
	files := afterPattern(rest)
	return !slices.ContainsFunc(files, func(w word) bool { return !strings.HasPrefix(w.text, "-") && !c.every(cmd, w, c.inside) })
}
