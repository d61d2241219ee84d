package shell

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Exports returns the variables, as NAME=VALUE, that a text of lines such as
// "export A=1" or "A=$B" sets. Variables in values are those of getenv, or of lines above.
// Nothing is run: a line with a command, a substitution of one or a glob is left out, and
// the error names the first.
func Exports(text string, getenv func(string) string) (vars []string, err error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, fmt.Errorf("it cannot be read as shell text: %w", err)
	}
	set := map[string]string{}
	config := &expand.Config{Env: expand.FuncEnviron(func(name string) string {
		if value, ok := set[name]; ok {
			return value
		}
		return getenv(name)
	})}
	for _, stmt := range file.Stmts {
		assigns, ok := assignments(stmt)
		if !ok {
			err = firstError(err, stmt)
			continue
		}
		for _, a := range assigns {
			value, bad := "", error(nil)
			if a.Value != nil {
				value, bad = expand.Literal(config, a.Value)
			}
			if bad != nil {
				err = firstError(err, stmt)
				continue
			}
			set[a.Name.Value] = value
			vars = append(vars, a.Name.Value+"="+value)
		}
	}
	return vars, err
}

// assignments returns the variables that a statement sets, if it does nothing else.
func assignments(stmt *syntax.Stmt) (all []*syntax.Assign, ok bool) {
	if len(stmt.Redirs) > 0 || stmt.Negated || stmt.Background {
		return nil, false
	}
	switch c := stmt.Cmd.(type) {
	case *syntax.DeclClause:
		all, ok = c.Args, c.Variant.Value == "export" || c.Variant.Value == "declare"
	case *syntax.CallExpr:
		all, ok = c.Assigns, len(c.Args) == 0
	}
	var set []*syntax.Assign
	for _, a := range all {
		switch {
		case a.Naked: // an option, or a variable that has a value
		case a.Append || a.Array != nil || a.Index != nil || a.Name == nil || !isText(a.Value):
			return nil, false
		default:
			set = append(set, a)
		}
	}
	return set, ok
}

// isText reports whether a word is made of texts and values of variables.
func isText(w *syntax.Word) bool {
	if w == nil {
		return true
	}
	text := true
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil, *syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted:
		case *syntax.ParamExp:
			text = text && isValue(n)
		default:
			text = false
		}
		return text
	})
	return text
}

// isValue reports whether an expansion is the value of a variable, or a text in its place,
// such as ${A:-b} and ${A:+b}.
func isValue(p *syntax.ParamExp) bool {
	if p.Excl || p.Length || p.Width || p.Index != nil || p.Slice != nil || p.Repl != nil || p.Names != 0 {
		return false
	}
	if p.Exp == nil {
		return true
	}
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		return true
	}
	return false
}

func firstError(err error, stmt *syntax.Stmt) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("line %d does more than set variables to texts", stmt.Pos().Line())
}
