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
	if len(c.words) == 0 {
		return st
	}
	words, _ := strip(c.words)
	if len(words) == 0 {
		return st
	}
	switch words[0].text {
	case "cd":
		return union(st, r.target(words, c, st))
	case "pushd", "popd", "eval", "source", ".":
		return state{}
	}
	if !words[0].lit {
		return state{}
	}
	return st
}

// cdOnly returns where a statement that is nothing but a cd leads.
func (r *reader) cdOnly(s *syntax.Stmt, st state) (state, bool) {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || s.Background || s.Negated || len(call.Args) == 0 || call.Args[0].Lit() != "cd" {
		return state{}, false
	}
	words := make([]word, len(call.Args))
	for i, a := range call.Args {
		words[i] = r.plain(a)
	}
	return r.target(words, command{}, st), true
}

// target returns the directories a cd leads to; none if that is not certain.
func (r *reader) target(words []word, c command, st state) state {
	if len(c.assigns) > 0 {
		return state{} // CDPATH, HOME
	}
	args := words[1:]
	for len(args) > 0 && (args[0].text == "--" || args[0].text == "-P" || args[0].text == "-L") {
		args = args[1:]
	}
	if len(args) == 0 {
		if r.home == "" {
			return state{}
		}
		return state{[]string{r.home}}
	}
	if len(args) > 1 || !args[0].fixed() || strings.HasPrefix(args[0].text, "-") {
		return state{}
	}
	var out []string
	for _, d := range st.cwds {
		out = append(out, absolute(args[0].text, d, ""))
	}
	if len(out) == 0 && strings.HasPrefix(args[0].text, "/") {
		out = []string{absolute(args[0].text, "/", "")}
	}
	return state{out}
}
