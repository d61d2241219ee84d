package defs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a definition.
const (
	// MaxFileSize is the size in bytes above which a file is refused.
	MaxFileSize = 4 << 20
	// MaxNameLength is the longest name in characters.
	MaxNameLength = 256
	// maxYAML bounds what is given to the YAML parser; longer frontmatter is
	// read line by line.
	maxYAML = 64 << 10
)

// Parse parses one definition. path is used in messages and kept in the result. The problems
// are the warnings in the order of the file and, last, the fatal one, which is also the
// error: a Problem, which wraps ErrNotAgent for a file without frontmatter. The definition
// is usable only without an error.
func Parse(path string, src []byte, from Source) (Definition, []Problem, error) {
	return Options{}.Parse(path, src, from)
}

// Parse is the function Parse, which also checks what the options ask for.
func (o Options) Parse(path string, src []byte, from Source) (Definition, []Problem, error) {
	p := &parser{path: path, from: from, check: o.Check}
	d, err := p.parse(src)
	if err != nil {
		return Definition{}, p.problems, err
	}
	return d, p.problems, nil
}

// parser collects the problems of one definition.
type parser struct {
	path      string
	from      Source
	plugin    *plugin // plugin of the file, or nil
	untrusted bool    // the file is part of a repository that is not trusted
	name      string
	problems  []Problem
	fatal     *Problem // the first one

	check func(Definition) []Problem // nil checks nothing
}

func (p *parser) warn(line int, format string, args ...any) {
	p.problems = append(p.problems, Problem{
		Path: p.path, Line: line, Agent: p.name, Source: p.from, Text: fmt.Sprintf(format, args...),
	})
}

// fail records why the definition cannot be loaded. The first reason counts.
func (p *parser) fail(line int, cause error, format string, args ...any) {
	if p.fatal != nil {
		return
	}
	p.fatal = &Problem{
		Path: p.path, Line: line, Agent: p.name, Source: p.from, Text: fmt.Sprintf(format, args...), Fatal: true, cause: cause,
	}
}

func (p *parser) outcome() error {
	if p.fatal == nil {
		return nil
	}
	p.fatal.Agent = p.name
	p.problems = append(p.problems, *p.fatal)
	return *p.fatal
}

func (p *parser) parse(src []byte) (Definition, error) {
	if len(src) > MaxFileSize {
		p.fail(0, nil, "the file has %d bytes and the limit is %d; shorten it", len(src), MaxFileSize)
		return Definition{}, p.outcome()
	}
	text, bad := decodeText(src)
	f, ok := splitFrontmatter(text)
	if !ok {
		p.fail(1, ErrNotAgent, "no frontmatter, so this is read as documentation; an agent starts with a line ---")
		return Definition{}, p.outcome()
	}
	if bad > 0 {
		p.warn(bad, "not UTF-8; the stray bytes are read as Windows-1252, save the file as UTF-8")
	}
	if f.fence > 1 || !strings.HasPrefix(text, "---") {
		p.warn(f.fence, "something blank stands before the opening ---; others skip such a file, remove it")
	}
	if f.unclosed {
		p.warn(f.fence, "the closing --- is missing; the frontmatter is taken to end before line %d", f.frontLine+len(f.front))
	}
	d := Definition{Source: p.from, Path: p.path, Body: f.body, Line: f.bodyLine, Untrusted: p.untrusted}
	if p.plugin != nil {
		d.Plugin = p.plugin.info
	}
	p.decode(&d, p.fields(f))
	return d, p.outcome()
}

// decode fills d from fields and checks what is required.
func (p *parser) decode(d *Definition, fields []field) {
	seen := make(map[string]int, len(fields))
	for _, f := range fields {
		key := p.canonicalKey(f)
		if first, dup := seen[key]; dup {
			p.warn(f.line, "%s is given twice; the one in line %d is used", key, first)
			continue
		}
		seen[key] = f.line
		f.key = key
		p.set(d, f)
		d.Lines = append(d.Lines, FieldLine{key, f.line})
	}
	if p.check != nil {
		p.problems = append(p.problems, p.check(*d)...)
	}
	p.restrict(d)
	p.warnNotInEffect(d)
	slices.SortStableFunc(p.problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	p.name = d.Name
	for i := range p.problems {
		p.problems[i].Agent = d.Name
	}
	p.require(d, fields, seen)
}

// canonicalKey returns the canonical key of f, with a warning about its spelling.
func (p *parser) canonicalKey(f field) string {
	key := canonicalField(f.key)
	if key == "" || key == "oneShot" && p.from != BuiltIn {
		return f.key
	}
	if key != f.key && !isAlias(f.key) {
		p.warn(f.line, "%s is read as %s; write it that way", f.key, key)
	}
	return key
}

func (p *parser) require(d *Definition, fields []field, seen map[string]int) {
	line := 1
	if len(fields) > 0 {
		line = fields[0].line
	}
	p.pluginDefaults(d, line)
	switch {
	case d.Name == "":
		p.fail(line, nil, "no name; add a line name: to the frontmatter")
	case d.Description == "":
		p.fail(max(line, seen["name"]), nil, "agent %q has no description; add a line description: saying when to use it", shorten(d.Name, 60))
	}
	if why := nameProblem(d.Name); why != "" && d.Name != "" {
		p.fail(seen["name"], nil, "the name %q %s; choose another", shorten(d.Name, 60), why)
	}
}

// nameProblem returns what is wrong with a name, or "".
func nameProblem(name string) string {
	switch {
	case strings.Contains(name, ":"):
		return `holds ":", which is reserved for plugins`
	case strings.ContainsAny(name, `/\`):
		return "holds a path separator"
	case strings.HasPrefix(name, "-"):
		return `starts with "-"`
	case name == "." || name == "..":
		return "is a directory's name"
	case utf8.RuneCountInString(name) > MaxNameLength:
		return fmt.Sprintf("has more than %d characters", MaxNameLength)
	case strings.ContainsFunc(name, unicode.IsControl):
		return "holds a control character"
	}
	return ""
}
