package defs

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Field is one entry of a definition as its author wrote it and Parse
// understood it.
type Field struct {
	// Key is the field's name as written.
	Key string
	// Name is the field that Key names, such as "disallowedTools" for
	// "disallowed-tools"; it is "" for a field that nobody knows.
	Name string
	// Line is where the field starts, counted from 1.
	Line int
	// Value is the value as JSON, or nil if it is too large or too deep for it.
	Value json.RawMessage
	// Text is the value if it is a single one, without quotes.
	Text string
	// Single says that the value is neither a list nor a map.
	Single bool
	// Plain says that YAML reads the value as something else than text: a
	// number, a truth value, a date or nothing.
	Plain bool
	// Comment stands behind a single value in its line, with its "#".
	Comment string
	// Unread says that an earlier entry has the same name; that one counts.
	Unread bool
}

// ReadFields returns the entries of src in the order written: of the frontmatter
// of a Markdown file, or, for JSON, of the agent of that name in an object keyed
// by names, which may itself stand under "agents". Repairs are those of Parse.
// The error wraps ErrNotAgent if there is no frontmatter.
func ReadFields(src []byte, agent string) ([]Field, error) {
	text, _ := decodeText(src)
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return jsonFields(text, agent)
	}
	f, ok := splitFrontmatter(text)
	if !ok {
		return nil, ErrNotAgent
	}
	p := &parser{}
	return written(p.fields(f)), nil
}

func written(fields []field) []Field {
	out := make([]Field, 0, len(fields))
	seen := make(map[string]bool, len(fields))
	for _, f := range fields {
		w := Field{Key: f.key, Name: canonicalField(f.key), Line: f.line}
		key := w.Name
		if key == "" {
			key = f.key
		}
		w.Unread = seen[key]
		seen[key] = true
		n := resolve(f.node)
		if raw, err := toJSON(n); err == nil {
			w.Value = raw
		}
		if w.Single = n.Kind == yaml.ScalarNode; w.Single {
			w.Text, w.Comment = n.Value, n.LineComment
			w.Plain = n.ShortTag() != "!!str"
		}
		out = append(out, w)
	}
	return out
}

func jsonFields(text, agent string) ([]Field, error) {
	root, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	entry := member(root, agent)
	if entry == nil {
		entry = member(member(root, "agents"), agent)
	}
	if entry == nil || entry.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("there is no agent %q in the JSON", agent)
	}
	var fields []field
	for i := 0; i+1 < len(entry.Content); i += 2 {
		fields = append(fields, field{entry.Content[i].Value, entry.Content[i].Line, entry.Content[i+1]})
	}
	return written(fields), nil
}

// member returns the value of a key, or nil.
func member(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// Written returns the fields of d as its source holds them now. flag is the
// text of --agents, which no file holds.
func (d Definition) Written(flag string) ([]Field, error) {
	src, err := d.read(flag)
	if err != nil {
		return nil, fmt.Errorf("read the definition of %s again: %w", d.Name, err)
	}
	return ReadFields(src, d.Name)
}

func (d Definition) read(flag string) ([]byte, error) {
	switch {
	case d.Path == FlagPath:
		return []byte(flag), nil
	case d.Source == BuiltIn:
		return builtinFiles.ReadFile(d.Path)
	}
	return readLimited(d.Path)
}
