package permission

import (
	"fmt"
	"strings"
)

// WayOut says what would have allowed a call that d asks about where nobody can be asked.
func (d Decision) WayOut() string {
	const answer = "--permission-prompts wait, and answer with swarm approvals"
	switch {
	case d.Rule == noRule:
		return "allow it with --allowedTools or a wider --permission-mode"
	case strings.HasPrefix(d.Rule, modeRule+string(Plan)):
		return "no --allowedTools counts in mode plan; use another --permission-mode, or " + answer
	case d.Source != "":
		return "no --allowedTools goes before that rule; take it out, or use " + answer
	}
	return "use " + answer
}

// modeRule begins the rule of a decision that a mode has made.
const modeRule = "mode "

// outside says of the first path of a file tool's call that lies outside the working
// directories that it does, after a separator, or returns "".
func outside(c *call, separator string) string {
	for _, t := range c.targets {
		if c.inWorkingDirs(t) {
			continue
		}
		if forms := c.forms(t); len(forms) > 1 && (location{dirs: c.dirs, foldCase: c.foldCase}).inWorkingDirs(t) {
			return fmt.Sprintf("%s%s leads to %s, which is outside the working directories", separator, t, forms[1])
		}
		return fmt.Sprintf("%s%s is outside the working directories", separator, t)
	}
	return ""
}
