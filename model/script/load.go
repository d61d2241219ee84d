package script

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/actorswarm/swarm/internal/syntaxerr"
	"github.com/actorswarm/swarm/model"
)

// maxStep is the end of a range without an end.
const maxStep = math.MaxInt

type wireFile struct {
	Model string     `yaml:"model"`
	Rules []wireRule `yaml:"rules"`
}

// wireRule is a rule with its line.
type wireRule struct {
	line int
	Name string   `yaml:"name"`
	When wireWhen `yaml:"when"`
	Say  *wireSay `yaml:"say"`
}

type wireWhen struct {
	Agent yaml.Node `yaml:"agent"`
	Step  yaml.Node `yaml:"step"`
	Turn  yaml.Node `yaml:"turn"`
	Text  yaml.Node `yaml:"text"`
	Mail  yaml.Node `yaml:"mail"`
	After yaml.Node `yaml:"after"`
	If    yaml.Node `yaml:"if"`
}

type wireSay struct {
	Text     yaml.Node  `yaml:"text"`
	Thinking yaml.Node  `yaml:"thinking"`
	Calls    []wireCall `yaml:"calls"`
	Delay    yaml.Node  `yaml:"delay"`
	Stall    bool       `yaml:"stall"`
	Error    *wireError `yaml:"error"`
	Repeat   int        `yaml:"repeat"`
}

type wireCall struct {
	Tool  yaml.Node `yaml:"tool"`
	As    yaml.Node `yaml:"as"`
	Input yaml.Node `yaml:"input"`
}

type wireError struct {
	Status     int       `yaml:"status"`
	Type       string    `yaml:"type"`
	Message    string    `yaml:"message"`
	RetryAfter yaml.Node `yaml:"retry_after"`
}

// Load reads a script. Its errors, all of them joined, name the lines.
func Load(src []byte) (*Script, error) {
	var file wireFile
	d := yaml.NewDecoder(bytes.NewReader(src))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("script: the file is empty; it needs a list named rules")
		}
		return nil, fmt.Errorf("script: %s", readable(err))
	}
	if len(file.Rules) == 0 {
		return nil, errors.New("script: line 1: there are no rules; the file needs a list named rules")
	}
	s := &Script{name: file.Model, used: map[useKey]int{}}
	if s.name == "" {
		s.name = "script"
	}
	setLines(src, file.Rules)
	var errs []error
	for i := range file.Rules {
		r, err := file.Rules[i].rule()
		if err != nil {
			errs = append(errs, fmt.Errorf("script: %w", err))
			continue
		}
		s.rules = append(s.rules, r)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, nil
}

var typeName = regexp.MustCompile(` (not found in|into) (type )?\*?script\.wire(\w+)`)

// readable removes names of Go types from an error of the YAML package.
func readable(err error) string {
	if !strings.HasPrefix(err.Error(), "yaml: unmarshal errors") {
		return syntaxerr.YAML(err).Error()
	}
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:\n  ")
	text = strings.NewReplacer(
		"cannot unmarshal !!str", "no text is expected here:", "cannot unmarshal !!int", "no number is expected here:",
		"cannot unmarshal !!seq", "no list is expected", "cannot unmarshal !!map", "no fields are expected",
		"cannot unmarshal !!bool", "neither true nor false is expected here:",
	).Replace(text)
	return typeName.ReplaceAllStringFunc(text, func(s string) string {
		m := typeName.FindStringSubmatch(s)
		if m[1] == "into" {
			return " in a " + strings.ToLower(m[3])
		}
		return " does not belong in a " + strings.ToLower(m[3])
	})
}

// setLines records the line on which each rule begins.
func setLines(src []byte, rules []wireRule) {
	var doc yaml.Node
	if yaml.Unmarshal(src, &doc) != nil || len(doc.Content) == 0 {
		return
	}
	root := doc.Content[0].Content
	for i := 0; i+1 < len(root); i += 2 {
		if root[i].Value != "rules" {
			continue
		}
		list := resolve(root[i+1])
		for j, n := range list.Content {
			if j < len(rules) {
				rules[j].line = n.Line
			}
		}
	}
}

func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func (w *wireRule) rule() (*rule, error) {
	r := &rule{name: w.Name, line: w.line}
	if w.Say == nil {
		return nil, fmt.Errorf("line %d: the rule has no say", w.line)
	}
	p := &parser{}
	r.when = when{
		agent: p.glob(&w.When.Agent), step: p.spans(&w.When.Step), turn: p.spans(&w.When.Turn),
		text: p.regexp(&w.When.Text), mail: p.regexp(&w.When.Mail), after: p.glob(&w.When.After),
		cond: p.condition(&w.When.If),
	}
	r.say = say{
		text: p.text(&w.Say.Text), thinking: p.text(&w.Say.Thinking), delay: p.duration(&w.Say.Delay),
		stall: w.Say.Stall, repeat: w.Say.Repeat,
	}
	for i := range w.Say.Calls {
		r.say.calls = append(r.say.calls, p.call(&w.Say.Calls[i], w.line))
	}
	if e := w.Say.Error; e != nil {
		r.say.failure = model.NewError(e.Status, e.Type, e.Message, p.duration(&e.RetryAfter))
	}
	if r.say.repeat < 0 {
		p.fail(w.line, "repeat is %d; give how often the rule may answer an agent", r.say.repeat)
	}
	if r.say.text == nil && r.say.thinking == nil && r.say.calls == nil && r.say.failure == nil && !r.say.stall {
		p.fail(w.line, "the rule says nothing; give it text, calls, error or stall")
	}
	return r, errors.Join(p.errs...)
}

// parser turns nodes into values and keeps the errors.
type parser struct {
	errs  []error
	nodes int // of inputs, with aliases followed
}

func (p *parser) fail(line int, format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, args...)))
}

// scalar returns the text of a node and whether there is one.
func (p *parser) scalar(n *yaml.Node) (string, bool) {
	if n.Kind == 0 {
		return "", false
	}
	n = resolve(n)
	if n.Kind != yaml.ScalarNode {
		p.fail(n.Line, "a single value is wanted here, not a list or a map")
		return "", false
	}
	return n.Value, true
}

func (p *parser) glob(n *yaml.Node) string {
	s, ok := p.scalar(n)
	if _, err := path.Match(s, ""); ok && err != nil {
		p.fail(n.Line, "%q is not a pattern of names: %v", s, err)
	}
	return s
}

func (p *parser) regexp(n *yaml.Node) *regexp.Regexp {
	s, ok := p.scalar(n)
	if !ok {
		return nil
	}
	re, err := regexp.Compile(s)
	if err != nil {
		p.fail(n.Line, "%v", err)
	}
	return re
}

func (p *parser) text(n *yaml.Node) *text {
	s, ok := p.scalar(n)
	if !ok {
		return nil
	}
	t, err := newText(s, n.Line)
	if err != nil {
		p.errs = append(p.errs, err)
	}
	return t
}

// condition reads an if. One without a template would hold always or never,
// which is no use; most likely the braces were forgotten.
func (p *parser) condition(n *yaml.Node) *text {
	t := p.text(n)
	if t != nil && t.tmpl == nil {
		p.fail(n.Line, "the if %q has no template in it; write it as {{…}}", t.raw)
	}
	return t
}

// duration reads 1.5 (seconds) or 300ms.
func (p *parser) duration(n *yaml.Node) time.Duration {
	s, ok := p.scalar(n)
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(s)
	if seconds, ferr := strconv.ParseFloat(s, 64); ferr == nil && seconds < 1e9 {
		d, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil || d < 0 {
		p.fail(n.Line, "%q is not a duration; write seconds, or a number with a unit such as 300ms", s)
	}
	return d
}

func (p *parser) spans(n *yaml.Node) (set spans) {
	if n.Kind == 0 {
		return nil
	}
	n = resolve(n)
	if n.Kind != yaml.SequenceNode {
		return p.span(n, set)
	}
	for _, c := range n.Content {
		set = p.span(resolve(c), set)
	}
	return set
}

var spanForm = regexp.MustCompile(`^(\d{1,9})(\s*-\s*(\d{1,9})?)?$`)

func (p *parser) span(n *yaml.Node, set spans) spans {
	m := spanForm.FindStringSubmatch(n.Value)
	if n.Kind != yaml.ScalarNode || m == nil {
		p.fail(n.Line, "%q is not a number or a range such as 2, 0-3 or 4-", n.Value)
		return set
	}
	// spanForm matches digits only.
	number := func(s string) int {
		i, err := strconv.Atoi(s)
		if err != nil {
			p.fail(n.Line, "%v", err)
		}
		return i
	}
	s := span{from: number(m[1])}
	switch {
	case m[2] == "":
		s.to = s.from
	case m[3] == "":
		s.to = maxStep
	default:
		s.to = number(m[3])
	}
	if s.to < s.from {
		p.fail(n.Line, "the range %s ends before it begins", n.Value)
	}
	return append(set, s)
}

var callName = regexp.MustCompile(`^[A-Za-z0-9-]{1,40}$`)

func (p *parser) call(w *wireCall, line int) call {
	c := call{tool: p.text(&w.Tool)}
	if c.tool == nil || c.tool.raw == "" {
		p.fail(line, "a call of the rule names no tool")
	}
	as, ok := p.scalar(&w.As)
	if ok && !callName.MatchString(as) {
		p.fail(w.As.Line, "the call name %q is not made of letters, digits and dashes", as)
	}
	c.as = as
	c.input = p.value(&w.Input)
	if c.input.node != nil && c.input.node.Kind != yaml.MappingNode {
		p.fail(w.Input.Line, "the input of a call is a map of names to values")
	}
	return c
}
