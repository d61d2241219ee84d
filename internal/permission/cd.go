package permission

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func contains(list []string, s string) bool { return slices.Contains(list, s) }

// changesDir reports whether some command in n may change directory.
func changesDir(n syntax.Node) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
			switch name := c.Args[0].Lit(); name {
			case "cd", "pushd", "popd", "eval", "source", ".", "builtin", "command", "":
				found = true
			}
		}
		return !found
	})
	return found
}

// moved returns the state after a command: cd may have worked or not.
func (r *reader) moved(c command, st state) state {
	words, _ := strip(c.words)
	if len(words) == 0 {
		return in(st.cwds)
	}
	switch words[0].text {
	case "cd":
		to := in(r.target(words[1:], c, st))
		out := union(st, to)
		out.ok = to.ok
		return out
	case "pushd", "popd", "eval", "source", ".":
		return state{}
	}
	if !words[0].lit {
		return state{}
	}
	return in(st.cwds)
}

// target returns the directories a cd leads to; none if that is not certain.
func (r *reader) target(args []word, c command, st state) []string {
	args = cdOperands(args)
	switch {
	case len(c.assigns) > 0:
		return nil // CDPATH, HOME
	case len(args) == 0 && r.home != "":
		return []string{r.home}
	case len(args) != 1 || !args[0].fixed() || strings.HasPrefix(args[0].text, "-"):
		return nil
	case strings.HasPrefix(args[0].text, "/"):
		return []string{absolute(args[0].text, "/", "")}
	}
	var out []string
	for _, d := range st.cwds {
		out = append(out, absolute("./"+args[0].text, d, ""))
	}
	return out
}

// cdOperands drops the options that do not change where a cd leads.
func cdOperands(args []word) []word {
	for len(args) > 0 && (args[0].text == "--" || args[0].text == "-P" || args[0].text == "-L") {
		args = args[1:]
	}
	return args
}
