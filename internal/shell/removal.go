package shell

import (
	"path"
	"slices"
	"strings"
)

// Removed returns the operands that a command removes.
func (c *Command) Removed() []Word {
	if len(c.Words) == 0 {
		return nil
	}
	switch path.Base(WithoutExpansions(c.Words[0].Text)) {
	case "rm", "rmdir", "unlink", "shred":
		return Operands(c.Words)
	case "find":
		if slices.ContainsFunc(c.Words, func(w Word) bool { return w.Text == "-delete" }) {
			return findRoots(c.Words)
		}
	}
	return nil
}

// findRoots returns the directories that find starts from.
func findRoots(words []Word) []Word {
	var out []Word
	for _, w := range words[1:] {
		if strings.HasPrefix(w.Text, "-") || w.Text == "(" || w.Text == "!" {
			if len(out) > 0 || !slices.Contains([]string{"-H", "-L", "-P"}, w.Text) {
				break
			}
			continue
		}
		out = append(out, w)
	}
	if len(out) == 0 {
		return []Word{Literal(".")}
	}
	return out
}

// MayBecomeRoot reports an expansion that, if it is empty, leaves "/" or a wildcard.
func MayBecomeRoot(t string) bool {
	return strings.Contains(t, "\x00/") || strings.Contains(t, "\x00*") || strings.Contains(t, "\x00?") || strings.Contains(t, "\x00\x00/")
}

// Alternatives returns the words that a brace expression may become, roughly: enough to
// recognize a critical path among them.
func Alternatives(w Word) []string {
	open, end := strings.IndexByte(w.Text, '{'), strings.LastIndexByte(w.Text, '}')
	if !w.brace || open < 0 || end < open {
		return []string{w.Text}
	}
	var out []string
	for alt := range strings.SplitSeq(w.Text[open+1:end], ",") {
		out = append(out, w.Text[:open]+alt+w.Text[end+1:])
	}
	return out
}
