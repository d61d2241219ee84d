package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A mutant is one change of one file: the bytes from..to become text.
type mutant struct {
	file      string // absolute
	line, col int
	from, to  int
	was, text string
	kind      string
}

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d:%d %s: %s -> %s", filepath.Base(m.file), m.line, m.col, m.kind, brief(m.was), brief(m.text))
}

func (m mutant) apply(src []byte) []byte {
	return slices.Concat(src[:m.from], []byte(m.text), src[m.to:])
}

func brief(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return "nothing"
	}
	if len(s) > 60 {
		s = s[:57] + "..."
	}
	return s
}

// mutantsOf returns all mutants of the package in dir, without its tests and the
// files of other systems.
func mutantsOf(dir, pattern string) ([]mutant, error) {
	files, err := goFiles(dir)
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, path := range files {
		if match, err := filepath.Match(pattern, filepath.Base(path)); err != nil {
			return nil, err
		} else if !match {
			continue
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		m, err := mutants(path, src)
		if err != nil {
			return nil, err
		}
		all = append(all, m...)
	}
	return all, nil
}

// mutants returns the mutants of one file.
func mutants(path string, src []byte) ([]mutant, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	b := &breaker{fset: fset, path: path, src: src}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			b.body(f.Type, f.Body)
		}
	}
	return b.all, nil
}

type breaker struct {
	fset *token.FileSet
	path string
	src  []byte
	all  []mutant
}

func (b *breaker) text(n ast.Node) string {
	return string(b.src[b.fset.Position(n.Pos()).Offset:b.fset.Position(n.End()).Offset])
}

func (b *breaker) replace(kind string, pos, end token.Pos, text string) {
	at := b.fset.Position(pos)
	from, to := at.Offset, b.fset.Position(end).Offset
	b.all = append(b.all, mutant{
		file: b.path, line: at.Line, col: at.Column, from: from, to: to,
		was: string(b.src[from:to]), text: text, kind: kind,
	})
}

// drop keeps the line breaks, so that the rest keeps its line numbers.
func (b *breaker) drop(n ast.Node) {
	b.replace("drop", n.Pos(), n.End(), strings.Repeat("\n", strings.Count(b.text(n), "\n")))
}

// body breaks the body of a function with the signature t.
func (b *breaker) body(t *ast.FuncType, body *ast.BlockStmt) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			b.body(n.Type, n.Body)
			return false
		case *ast.ExprStmt:
			if quiet(b.text(n)) {
				return false
			}
			b.drop(n)
		case *ast.DeferStmt:
			if quiet(b.text(n.Call)) {
				return false
			}
			b.drop(n)
		case *ast.AssignStmt:
			b.assign(n)
		case *ast.IncDecStmt:
			b.replace("count", n.TokPos, n.End(), map[token.Token]string{token.INC: "--", token.DEC: "++"}[n.Tok])
		case *ast.BranchStmt:
			if n.Tok == token.BREAK || n.Tok == token.CONTINUE {
				b.drop(n)
			}
		case *ast.IfStmt:
			b.condition(n.Cond)
		case *ast.BinaryExpr:
			b.binary(n)
		case *ast.ReturnStmt:
			b.returned(t, n)
		}
		return true
	})
}

// quiet reports code that the outcome of a test does not depend on: locks, which the race
// detector checks, and log lines.
var quiet = regexp.MustCompile(`(?i)^(panic|[\w.]*\b(log|logger|slog|\w+log)\.|[\w.]*\.?(lock|rlock|unlock|runlock)\(\))`).MatchString

func (b *breaker) assign(n *ast.AssignStmt) {
	switch n.Tok {
	case token.ASSIGN:
		if id, ok := n.Lhs[0].(*ast.Ident); !ok || id.Name != "_" {
			b.drop(n)
		}
	case token.ADD_ASSIGN:
		b.replace("arithmetic", n.TokPos, n.TokPos+2, "-=")
	case token.SUB_ASSIGN:
		b.replace("arithmetic", n.TokPos, n.TokPos+2, "+=")
	}
}

// condition negates a condition that is not a comparison; binary changes those.
func (b *breaker) condition(cond ast.Expr) {
	if _, ok := cond.(*ast.BinaryExpr); !ok {
		b.replace("negate", cond.Pos(), cond.End(), "!("+b.text(cond)+")")
	}
}

var others = map[token.Token][]struct{ kind, text string }{
	token.EQL:  {{"negate", "!="}},
	token.NEQ:  {{"negate", "=="}},
	token.LSS:  {{"boundary", "<="}, {"negate", ">="}},
	token.LEQ:  {{"boundary", "<"}, {"negate", ">"}},
	token.GTR:  {{"boundary", ">="}, {"negate", "<="}},
	token.GEQ:  {{"boundary", ">"}, {"negate", "<"}},
	token.LAND: {{"logic", "||"}},
	token.LOR:  {{"logic", "&&"}},
	token.ADD:  {{"arithmetic", "-"}},
	token.SUB:  {{"arithmetic", "+"}},
	token.MUL:  {{"arithmetic", "/"}},
	token.QUO:  {{"arithmetic", "*"}},
}

func (b *breaker) binary(n *ast.BinaryExpr) {
	for _, o := range others[n.Op] {
		b.replace(o.kind, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), o.text)
	}
}

// returned replaces each result by the zero value of its type, and a bool by its
// opposite.
func (b *breaker) returned(t *ast.FuncType, n *ast.ReturnStmt) {
	var types []ast.Expr
	if t.Results != nil {
		for _, f := range t.Results.List {
			for range max(1, len(f.Names)) {
				types = append(types, f.Type)
			}
		}
	}
	if len(types) != len(n.Results) {
		return
	}
	for i, r := range n.Results {
		switch was, of := b.text(r), b.text(types[i]); {
		case of == "bool":
			b.replace("return", r.Pos(), r.End(), map[string]string{"true": "false", "false": "true"}[was])
			if last := &b.all[len(b.all)-1]; last.text == "" {
				last.text = "!(" + was + ")"
			}
		case was == "nil" || was == "0" || was == `""` || was == of+"{}":
		case of == "error" || of == "any" || strings.HasPrefix(of, "*") || strings.HasPrefix(of, "[]"):
			b.replace("return", r.Pos(), r.End(), "nil")
		default:
			b.replace("return", r.Pos(), r.End(), "*new("+of+")")
		}
	}
}
