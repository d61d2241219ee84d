package defs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/actorswarm/swarm/internal/syntaxerr"
)

// FlagPath is the Path of definitions given as text to --agents.
const FlagPath = "--agents"

// ParseFlag parses the JSON of --agents: an object of definitions by name, with the body
// under "prompt". It returns an error if text is not such an object; a broken definition is
// a fatal problem, and the others load. Definitions are in the order of the text.
func ParseFlag(text string) ([]Definition, []Problem, error) {
	return Options{}.parseFlag(FlagPath, text)
}

func (o Options) parseFlag(path, text string) ([]Definition, []Problem, error) {
	if len(text) > MaxFileSize {
		return nil, nil, fmt.Errorf("invalid --agents configuration: %d bytes, and the limit is %d", len(text), MaxFileSize)
	}
	root, err := parseJSON(text)
	if err != nil {
		return nil, nil, fmt.Errorf("invalid --agents configuration in %s: %w", path, err)
	}
	if root.Kind != yaml.MappingNode {
		return nil, nil, fmt.Errorf("invalid --agents configuration in %s: expected an object keyed by agent name, got %s", path, kind(root))
	}
	p := parser{path: path, from: Flag, check: o.Check}
	defs, problems := p.agents(root)
	return defs, problems, nil
}

// agents reads an object of definitions; p is the template of their parsers.
func (p parser) agents(root *yaml.Node) (defs []Definition, problems []Problem) {
	for i := 0; i+1 < len(root.Content); i += 2 {
		one := p
		d, err := one.flagEntry(root.Content[i], root.Content[i+1])
		problems = append(problems, one.problems...)
		if err == nil {
			defs = append(defs, d)
		}
	}
	return defs, problems
}

// flagEntry reads one definition. The key is the name, whatever the entry contains.
func (p *parser) flagEntry(key, value *yaml.Node) (Definition, error) {
	p.name = key.Value
	d := Definition{Source: p.from, Path: p.path, Untrusted: p.untrusted}
	if value.Kind != yaml.MappingNode {
		p.fail(value.Line, nil, "agent %q must be an object, not %s", shorten(key.Value, 60), kind(value))
		return d, p.outcome()
	}
	fields := []field{{"name", key.Line, textNode(key.Value, key.Line)}}
	for i := 0; i+1 < len(value.Content); i += 2 {
		k, v := value.Content[i], value.Content[i+1]
		f := field{k.Value, k.Line, v}
		switch k.Value {
		case "name":
			continue
		case "prompt":
			d.Body, d.Line = strings.TrimSpace(p.text(f)), v.Line
		default:
			fields = append(fields, f)
		}
	}
	p.decode(&d, fields)
	return d, p.outcome()
}

// parseJSON parses JSON into a YAML tree with lines, so that the same code checks both
// forms.
func parseJSON(text string) (*yaml.Node, error) {
	r := &jsonReader{text: text, dec: json.NewDecoder(strings.NewReader(text)), line: 1}
	r.dec.UseNumber()
	n, err := r.value(0)
	if err != nil {
		if bad := syntaxerr.InJSON([]byte(text)); bad != nil {
			return nil, &lineError{bad.Line, fmt.Errorf("column %d: %s", bad.Column, bad.Text)}
		}
		return nil, &lineError{r.at(), err}
	}
	if _, err := r.dec.Token(); err != io.EOF {
		return nil, &lineError{r.at(), errors.New("more text after the object")}
	}
	return n, nil
}

type jsonReader struct {
	text string
	dec  *json.Decoder
	line int // at pos
	pos  int
}

// at returns the line of the decoder's position, counting each byte once.
func (r *jsonReader) at() int {
	end := min(int(r.dec.InputOffset()), len(r.text))
	r.line += strings.Count(r.text[r.pos:end], "\n")
	r.pos = end
	return r.line
}

func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	if depth > jsonDepth {
		return nil, errTooDeep
	}
	tok, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: r.at()}
	switch v := tok.(type) {
	case json.Delim:
		if v == '{' {
			n.Kind = yaml.MappingNode
		} else {
			n.Kind = yaml.SequenceNode
		}
		return n, r.content(n, depth)
	case string:
		n.Tag, n.Value = "!!str", v
	case bool:
		n.Tag, n.Value = "!!bool", fmt.Sprint(v)
	case json.Number:
		n.Tag, n.Value = "!!float", v.String()
	case nil:
		n.Tag = "!!null"
	}
	return n, nil
}

// content reads the members of n up to the closing bracket.
func (r *jsonReader) content(n *yaml.Node, depth int) error {
	for r.dec.More() {
		c, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.Content = append(n.Content, c)
	}
	_, err := r.dec.Token()
	return err
}
