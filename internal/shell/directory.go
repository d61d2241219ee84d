package shell

import (
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

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

// stateAfterCommand returns the state after c: a cd may have worked or not.
func (r *reader) stateAfterCommand(c Command, st state) state {
	words, _ := Strip(c.Words)
	if len(words) == 0 {
		return inDirs(st.dirs)
	}
	switch words[0].Text {
	case "cd":
		to := inDirs(r.cdTargets(words[1:], c, st))
		out := union(st, to)
		out.onSuccess = to.onSuccess
		return out
	case "pushd", "popd", "eval", "source", ".":
		return state{}
	}
	if !words[0].Literal {
		return state{}
	}
	return inDirs(st.dirs)
}

// cdTargets returns the directories to which a cd may lead, or none if that is not
// certain.
func (r *reader) cdTargets(args []Word, c Command, st state) []string {
	args = CdOperands(args)
	switch {
	case len(c.Assigns) > 0:
		return nil // CDPATH, HOME
	case len(args) == 0 && r.home != "":
		return []string{r.home}
	case len(args) != 1 || !args[0].Fixed() || strings.HasPrefix(args[0].Text, "-"):
		return nil
	case strings.HasPrefix(args[0].Text, "/"):
		return []string{Absolute(args[0].Text, "/", "")}
	}
	var out []string
	for _, d := range st.dirs {
		out = append(out, Absolute("./"+args[0].Text, d, ""))
	}
	return out
}

// CdOperands removes the options of cd that do not change where it leads.
func CdOperands(args []Word) []Word {
	for len(args) > 0 && (args[0].Text == "--" || args[0].Text == "-P" || args[0].Text == "-L") {
		args = args[1:]
	}
	return args
}

// Absolute returns the clean absolute path that path means in cwd. Without a current
// directory it is below the root.
func Absolute(path, cwd, home string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		path = home + path[1:]
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join("/", cwd, path)
	}
	return filepath.Clean(path)
}
