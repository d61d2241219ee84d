package shell

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// The runes that stand in a word's text for what only the shell will know: the
// value of an expansion, and of one that fails when it is empty.
const (
	unknownMark = '\x00'
	guardedMark = '\x01'
)

// ExpansionMarks holds the runes that stand in the Text of a word for what only the
// shell will know.
const ExpansionMarks = "\x00\x01"

// Word is one word of a command.
type Word struct {
	// Text is the word without its quotes. Marks stand for expansions.
	Text string
	// Source is the word as written.
	Source string
	// Literal is set when the word has no expansion, so that Text is all of it.
	Literal bool
	// Glob is set when the shell may replace the word by file names.
	Glob bool
	// brace is set when the word may become several words.
	brace bool
	// variable is set when part of the word is a variable's value, not the output of a
	// command.
	variable bool
	// quoted is set when part of the word was quoted.
	quoted bool
}

// Literal returns a word without quotes, expansions and patterns.
func Literal(s string) Word { return Word{Text: s, Source: s, Literal: true} }

// Fixed reports whether the word reaches the program exactly as Text.
func (w Word) Fixed() bool { return w.Literal && !w.Glob && !w.brace }

// forAllowRules returns the form that allow rules match: quotes stay where they matter.
func (w Word) forAllowRules() string {
	if w.Fixed() && w.Text != "" && !strings.ContainsAny(w.Text, " \t\n'\"\\$`|&;<>(){}*?[]#~!") {
		return w.Text
	}
	return w.Source
}

// Unquoted returns the form that deny rules match: without quotes.
func (w Word) Unquoted() string {
	if w.Literal {
		return w.Text
	}
	return w.Source
}

func (r *reader) words(list []*syntax.Word, st state) []Word {
	out := make([]Word, len(list))
	for i, w := range list {
		out[i] = r.word(w, st)
	}
	return out
}

// word reads a word and the commands in it.
func (r *reader) word(w *syntax.Word, st state) Word {
	r.nested(w, st)
	return r.plainWord(w)
}

// plainWord reads a word without the commands in it.
func (r *reader) plainWord(w *syntax.Word) Word {
	b := &wordBuilder{home: r.home, word: Word{Literal: true}}
	for i, p := range w.Parts {
		b.part(p, i == 0)
	}
	b.word.Text = b.text.String()
	if b.word.Text == "[" {
		b.word.Glob = false // the command, or a bracket that opens nothing
	}
	if b.word.brace {
		r.script.setUntraced("it uses brace expansion")
	}
	b.word.Source = b.word.Text
	if !b.word.Fixed() || b.word.quoted || strings.ContainsAny(b.word.Text, " \\~") {
		b.word.Source = printed(w)
	}
	return b.word
}

type wordBuilder struct {
	word Word
	text strings.Builder
	home string
}

func (b *wordBuilder) part(p syntax.WordPart, first bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		b.literal(p.Value, first)
	case *syntax.SglQuoted:
		b.word.quoted = true
		if p.Dollar {
			b.text.WriteString(ansiC(p.Value))
			return
		}
		b.text.WriteString(p.Value)
	case *syntax.DblQuoted:
		b.word.quoted = true
		b.word.Literal = b.word.Literal && !p.Dollar
		b.dblQuoted(p)
	default:
		b.expansion(p)
	}
}

// literal reads unquoted text, in which backslashes quote and some runes are special.
func (b *wordBuilder) literal(s string, first bool) {
	if first && strings.HasPrefix(s, "~") {
		s = b.tilde(s)
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			b.word.quoted = true
			if i++; i < len(s) && s[i] != '\n' {
				b.text.WriteByte(s[i])
			}
			continue
		case '*', '?', '[':
			b.word.Glob = true
		case '{', '}':
			b.word.brace = b.word.brace || strings.Contains(s, ",") || strings.Contains(s, "..")
		}
		b.text.WriteByte(s[i])
	}
}

// tilde writes the home directory and returns the rest.
func (b *wordBuilder) tilde(s string) string {
	if b.home != "" && (s == "~" || strings.HasPrefix(s, "~/")) {
		b.text.WriteString(b.home)
		return s[1:]
	}
	b.word.Literal = false
	b.text.WriteRune(unknownMark)
	return s[1:]
}

func (b *wordBuilder) dblQuoted(p *syntax.DblQuoted) {
	for _, q := range p.Parts {
		l, ok := q.(*syntax.Lit)
		if !ok {
			b.expansion(q)
			continue
		}
		s := l.Value
		for i := 0; i < len(s); i++ {
			if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\\n", s[i+1]) >= 0 {
				if i++; s[i] == '\n' {
					continue
				}
			}
			b.text.WriteByte(s[i])
		}
	}
}

func (b *wordBuilder) expansion(p syntax.WordPart) {
	b.word.Literal = false
	_, isOutput := p.(*syntax.CmdSubst)
	b.word.variable = b.word.variable || !isOutput
	mark := unknownMark
	if e, ok := p.(*syntax.ParamExp); ok {
		if e.Exp != nil && (e.Exp.Op == syntax.ErrorUnset || e.Exp.Op == syntax.ErrorUnsetOrNull) {
			mark = guardedMark
		}
		if e.Param != nil && e.Param.Value == "HOME" && e.Exp == nil && b.home != "" {
			b.text.WriteString(b.home)
			return
		}
	}
	b.text.WriteRune(mark)
}

func printed(n syntax.Node) string {
	var b strings.Builder
	if err := syntax.NewPrinter().Print(&b, n); err != nil {
		return string(unknownMark) // matches nothing
	}
	return b.String()
}

// plainParam reports whether an expansion only inserts a value.
func plainParam(p *syntax.ParamExp) bool {
	return !p.Excl && p.Index == nil && p.Slice == nil && p.Names == 0 && p.Flags == nil && len(p.Modifiers) == 0 &&
		p.NestedParam == nil && (p.Exp == nil || p.Exp.Op != syntax.OtherParamOps)
}

// constantArithmetic reports whether nothing in x can be evaluated twice.
func constantArithmetic(x syntax.ArithmExpr) bool {
	ok := true
	if x == nil {
		return true
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			ok = ok && strings.Trim(n.Value, "0123456789") == ""
		case *syntax.ParamExp, *syntax.CmdSubst, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.ProcSubst:
			ok = false
		}
		return ok
	})
	return ok
}

// plainTest reports whether no operand of a [[ ]] is arithmetic.
func plainTest(x syntax.TestExpr) bool {
	ok := true
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.UnaryTest:
			ok = ok && n.Op != syntax.TsVarSet && n.Op != syntax.TsRefVar
		case *syntax.BinaryTest:
			switch n.Op {
			case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr, syntax.TsReMatch:
				ok = false
			}
		}
		return ok
	})
	return ok
}

// ansiC decodes the inside of $'…'.
func ansiC(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		i += ansiEscape(&b, s[i:]) - 1
	}
	return b.String()
}

// ansiEscape writes the rune that rest stands for after a backslash, and returns how
// many bytes of rest it took.
func ansiEscape(b *strings.Builder, rest string) int {
	const plain, values = "abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v"
	if i := strings.IndexByte(plain, rest[0]); i >= 0 {
		b.WriteByte(values[i])
		return 1
	}
	digits, base, from := 0, 16, 1
	switch rest[0] {
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	case 'c':
		if len(rest) > 1 {
			b.WriteByte(rest[1] & 0x1f)
			return 2
		}
	case '0', '1', '2', '3', '4', '5', '6', '7':
		digits, base, from = 3, 8, 0
	}
	n := from
	for n < len(rest) && n < from+digits && isDigit(rest[n], base) {
		n++
	}
	v, err := strconv.ParseUint(rest[from:n], base, 32)
	if err != nil {
		b.WriteByte(rest[0])
		return 1
	}
	if rest[0] == 'u' || rest[0] == 'U' {
		b.Write(utf8.AppendRune(nil, rune(v)))
	} else {
		b.WriteByte(byte(v))
	}
	return n
}

func isDigit(c byte, base int) bool {
	if base == 8 {
		return c >= '0' && c <= '7'
	}
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}
