package shell

import (
	"regexp"

	"mvdan.cc/sh/v3/syntax"
)

// LastChain returns the commands whose exit code decides that of the whole text, as
// they are written: of its last chain of && and ||, each part, and of a pipe the last
// command. It returns false if the text does not parse, if its last command runs in the
// background, or if it contains grammar outside of quotes that may decide differently:
// groups, functions, substitutions, here-documents.
func LastChain(text string) (commands []string, ok bool) {
	if checkSize(text) != nil {
		return nil, false
	}
	f, err := parse(text)
	if err != nil || len(f.Stmts) == 0 || holdsUnfollowedGrammar(f) {
		return nil, false
	}
	last := f.Stmts[len(f.Stmts)-1]
	return chain(nil, text, last), !last.Background && !last.Coprocess
}

// chain appends the commands of a statement.
func chain(commands []string, text string, s *syntax.Stmt) []string {
	cmd := s.Cmd
	if timed, is := cmd.(*syntax.TimeClause); is && timed.Stmt != nil && !timed.Stmt.Negated {
		cmd = timed.Stmt.Cmd
	}
	both, is := cmd.(*syntax.BinaryCmd)
	switch {
	case !is || s.Negated:
		return append(commands, text[s.Pos().Offset():s.End().Offset()])
	case both.Op == syntax.Pipe || both.Op == syntax.PipeAll:
		return chain(commands, text, both.Y)
	}
	return chain(chain(commands, text, both.X), text, both.Y)
}

// holdsUnfollowedGrammar reports whether n contains grammar that LastChain does not
// follow.
func holdsUnfollowedGrammar(n syntax.Node) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			return false
		case *syntax.Subshell, *syntax.Block, *syntax.FuncDecl, *syntax.ArithmCmd, *syntax.ParenTest,
			*syntax.CmdSubst, *syntax.ArithmExp, *syntax.ProcSubst, *syntax.ExtGlob, *syntax.ArrayExpr:
			found = true
		case *syntax.ParamExp:
			found = found || !n.Short
		case *syntax.BinaryTest:
			found = found || n.Op == syntax.AndTest || n.Op == syntax.OrTest
		case *syntax.Redirect:
			found = found || n.Op == syntax.Hdoc || n.Op == syntax.DashHdoc || n.Op == syntax.WordHdoc
		case *syntax.Lit:
			found = found || groupSyntax.MatchString(escapedRune.ReplaceAllString(n.Value, ""))
		}
		return !found
	})
	return found
}

var (
	groupSyntax = regexp.MustCompile("[({}`]")
	escapedRune = regexp.MustCompile(`(?s)\\.`)
)
