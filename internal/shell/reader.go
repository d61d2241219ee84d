package shell

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// MaxCommand is the length in bytes above which a Script is TooLong.
	MaxCommand = 10_000
	// MaxParsed is the length in bytes above which a text is not even parsed.
	MaxParsed = 64 << 10
	// maxNesting bounds open brackets and maxCommands simple commands.
	maxNesting  = 150
	maxCommands = 5_000
	// maxEval bounds how often a script is found inside a script's words.
	maxEval = 16
)

// checkText rejects text that the parser and the shell may read differently, or that
// would make the parser slow.
func checkText(text string) error {
	if err := checkSize(text); err != nil {
		return err
	}
	if strings.Contains(text, "\u00a0") || strings.Contains(text, "\u2028") {
		return errors.New("it holds a blank that is not a space")
	}
	if strings.ContainsFunc(text, isControl) {
		return errControl
	}
	return nil
}

// checkSize rejects text that would make the parser slow.
func checkSize(text string) error {
	if len(text) > MaxParsed {
		return fmt.Errorf("it is longer than %d bytes", MaxParsed)
	}
	depth, deepest := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(', '{', '[':
			depth++
			deepest = max(deepest, depth)
		case ')', '}', ']':
			depth--
		}
	}
	if deepest > maxNesting {
		return errors.New("its brackets are nested too deeply")
	}
	return nil
}

var errControl = errors.New("it holds a control character")

func isControl(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }

// dropControl removes control characters; it is used with strings.Map.
func dropControl(r rune) rune {
	if isControl(r) {
		return -1
	}
	return r
}

// controlToSpace turns control characters into spaces; it is used with strings.Map.
func controlToSpace(r rune) rune {
	if isControl(r) {
		return ' '
	}
	return r
}

// state is where the shell may be after the commands read so far: dirs are the
// directories it may be in, onSuccess those if the last command succeeded.
type state struct{ dirs, onSuccess []string }

func inDirs(dirs []string) state { return state{dirs, dirs} }

// reader walks a syntax tree in the order of execution, so that it knows where
// each command runs.
type reader struct {
	script *Script
	home   string
	evals  int
	// tooDeep is set when a nested script was not read.
	tooDeep bool
	// unknownDirs is above 0 in loops and functions that change directory.
	unknownDirs int
	hidden      int
}

func parse(text string) (*syntax.File, error) {
	return syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
}

func (r *reader) read(text string, st state) error {
	f, err := parse(text)
	if err != nil {
		return fmt.Errorf("it does not parse: %w", err)
	}
	r.stmts(f.Stmts, st)
	if len(r.script.Commands) > maxCommands {
		return fmt.Errorf("it has more than %d parts", maxCommands)
	}
	return nil
}

func (r *reader) stmts(list []*syntax.Stmt, st state) state {
	for _, s := range list {
		st = r.stmt(s, st)
	}
	return st
}

func (r *reader) stmt(s *syntax.Stmt, st state) state {
	if s == nil || len(r.script.Commands) > maxCommands {
		return st
	}
	call, simple := s.Cmd.(*syntax.CallExpr)
	if !simple {
		if len(s.Redirs) > 0 {
			r.add(Command{Redirects: r.redirects(s.Redirs, st)}, st)
		}
		after := r.command(s.Cmd, st)
		return stateAfter(s, st, after)
	}
	c := Command{Redirects: r.redirects(s.Redirs, st)}
	return stateAfter(s, st, r.call(call, c, st))
}

// stateAfter returns the state after a statement, given that of its command.
func stateAfter(s *syntax.Stmt, before, after state) state {
	switch {
	case s.Background || s.Coprocess:
		return inDirs(before.dirs)
	case s.Negated:
		return inDirs(after.dirs)
	}
	return after
}

func (r *reader) add(c Command, st state) {
	c.Dirs = st.dirs
	if r.unknownDirs > 0 {
		c.Dirs = nil
	}
	c.Hidden = r.hidden > 0
	r.script.Commands = append(r.script.Commands, c)
}

// call reads a simple command and returns the state after it.
func (r *reader) call(n *syntax.CallExpr, c Command, st state) state {
	for _, a := range n.Assigns {
		c.Assigns = append(c.Assigns, r.assign(a, st))
	}
	c.Words = r.words(n.Args, st)
	r.add(c, st)
	r.readInner(c, st)
	return r.stateAfterCommand(c, st)
}

// command reads a compound command.
func (r *reader) command(n syntax.Command, st state) state {
	if b, ok := n.(*syntax.BinaryCmd); ok {
		return r.binary(b, st)
	}
	return inDirs(r.compound(n, st).dirs)
}

func (r *reader) compound(n syntax.Command, st state) state {
	switch n := n.(type) {
	case nil:
	case *syntax.Block:
		return r.stmts(n.Stmts, st)
	case *syntax.Subshell:
		r.stmts(n.Stmts, st)
	case *syntax.IfClause:
		return r.ifClause(n, st)
	case *syntax.WhileClause:
		return r.loop(st, n, func(st state) state { return r.stmts(n.Do, r.stmts(n.Cond, st)) })
	case *syntax.ForClause:
		r.forHead(n, st)
		return r.loop(st, n, func(st state) state { return r.stmts(n.Do, st) })
	case *syntax.CaseClause:
		return r.caseClause(n, st)
	case *syntax.TimeClause:
		return r.stmt(n.Stmt, st)
	default:
		return r.unusual(n, st)
	}
	return st
}

// unusual reads commands that are never approved part by part.
func (r *reader) unusual(n syntax.Command, st state) state {
	switch n := n.(type) {
	case *syntax.CoprocClause:
		r.stmt(n.Stmt, st)
	case *syntax.FuncDecl:
		r.script.setOpaque("it defines a function")
		r.unknownDirs++
		r.stmt(n.Body, st)
		r.unknownDirs--
	case *syntax.TestClause:
		if !plainTest(n.X) {
			r.script.setOpaque("its test may evaluate arithmetic")
		}
		r.nested(n, st)
	case *syntax.DeclClause:
		r.declare(n, st)
	default:
		r.script.setOpaque("it evaluates arithmetic")
		r.nested(n, st)
	}
	return st
}

// declare reads "export X=1" and the like as a simple command.
func (r *reader) declare(n *syntax.DeclClause, st state) {
	c := Command{Words: []Word{Literal(n.Variant.Value)}}
	for _, a := range n.Args {
		r.nested(a, st)
		c.Words = append(c.Words, Word{Source: printed(a), Text: printed(a)})
	}
	r.script.setOpaque("it declares variables")
	r.add(c, st)
}

func (r *reader) binary(n *syntax.BinaryCmd, st state) state {
	switch n.Op {
	case syntax.AndStmt:
		x := r.stmt(n.X, st)
		y := r.stmt(n.Y, inDirs(x.onSuccess)) // it runs only where the left side led
		out := union(x, y)
		out.onSuccess = y.onSuccess
		return out
	case syntax.OrStmt:
		x := r.stmt(n.X, st)
		return union(x, r.stmt(n.Y, inDirs(x.dirs)))
	}
	r.stmt(n.X, st) // pipes run in subshells
	r.stmt(n.Y, st)
	return inDirs(st.dirs)
}

func (r *reader) ifClause(n *syntax.IfClause, st state) state {
	if n == nil {
		return st
	}
	st = r.stmts(n.Cond, st)
	return union(r.stmts(n.Then, st), r.ifClause(n.Else, st))
}

// loop reads a body once. If the body changes directory, its next round may run
// anywhere.
func (r *reader) loop(st state, n syntax.Node, body func(state) state) state {
	if !changesDir(n) {
		return body(st)
	}
	r.unknownDirs++
	body(st)
	r.unknownDirs--
	return state{}
}

func (r *reader) forHead(n *syntax.ForClause, st state) {
	switch l := n.Loop.(type) {
	case *syntax.WordIter:
		for _, w := range l.Items {
			r.word(w, st)
		}
	case *syntax.CStyleLoop:
		r.script.setOpaque("it evaluates arithmetic")
		r.nested(l, st)
	}
}

func (r *reader) caseClause(n *syntax.CaseClause, st state) state {
	r.nested(n.Word, st)
	out := st
	for _, item := range n.Items {
		for _, p := range item.Patterns {
			r.nested(p, st)
		}
		out = union(out, r.stmts(item.Stmts, st))
	}
	return out
}

// nested reads the commands in a node's expansions and records expansions that run
// code.
func (r *reader) nested(n syntax.Node, st state) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			if n.TempFile || n.ReplyVar {
				r.script.setUntraced("it runs a command in ${ }")
			}
			r.stmts(n.Stmts, st)
			return false
		case *syntax.ProcSubst:
			r.stmts(n.Stmts, st)
			return false
		case *syntax.ArithmExp:
			if !constantArithmetic(n.X) {
				r.script.setOpaque(reckons)
			}
		case *syntax.ParamExp:
			if n.Excl {
				r.script.setUntraced("it uses the variable that another one names")
			}
			if !plainParam(n) {
				r.script.setOpaque("it uses an expansion that evaluates its value")
			}
		case *syntax.ExtGlob:
			r.script.setOpaque("it uses an extended pattern")
		}
		return true
	})
}

func (r *reader) redirects(list []*syntax.Redirect, st state) []Redirect {
	var out []Redirect
	for _, n := range list {
		if n.Hdoc != nil {
			r.nested(n.Hdoc, st)
			if slices.ContainsFunc(n.Hdoc.Parts, expands) {
				r.script.setUntraced("a here-document has expansions (quote its delimiter)")
			}
		}
		if n.N != nil && strings.HasPrefix(n.N.Value, "{") {
			r.script.setOpaque("a redirection sets a variable")
		}
		if n.Word != nil && n.Op != syntax.Hdoc && n.Op != syntax.DashHdoc {
			out = append(out, Redirect{n.Op, r.word(n.Word, st)})
		}
	}
	return out
}

// expands reports whether a part of a here-document is not plain text.
func expands(p syntax.WordPart) bool {
	_, plain := p.(*syntax.Lit)
	return !plain
}

func (r *reader) assign(a *syntax.Assign, st state) Assign {
	r.nested(a, st)
	out := Assign{}
	if a.Name != nil {
		out.Name = a.Name.Value
	}
	if a.Index != nil || a.Array != nil {
		r.script.setOpaque("it assigns to an array")
	}
	if a.Value != nil {
		out.Value = r.plainWord(a.Value)
	}
	return out
}

func union(a, b state) state {
	if len(a.dirs) == 0 || len(b.dirs) == 0 {
		return state{}
	}
	out := a.dirs
	for _, d := range b.dirs {
		if !slices.Contains(out, d) {
			out = append(out[:len(out):len(out)], d)
		}
	}
	if len(out) > 4 {
		return state{} // too many to follow
	}
	return inDirs(out)
}
