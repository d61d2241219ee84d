package defs

import (
	"encoding/json"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Field is one entry of a definition as its author wrote it and Parse
// understood it.
type Field struct {
	// Key is the field's name as written.
	Key string
	// Name is the field that Key names, such as "disallowedTools" for
	// "disallowed-tools"; it is "" for an unknown field.
	Name string
	// Line is where the field starts, counted from 1.
	Line int
	// Value is the value as JSON, or nil if it is too large or too deep for it.
	Value json.RawMessage
	// Text is the value if it is a single one, without quotes.
	Text string
	// Single reports that the value is neither a list nor a map.
	Single bool
	// Plain reports that YAML reads the value as something else than text: a
	// number, a truth value, a date or nothing.
	Plain bool
	// Repaired reports that the entry was not valid YAML.
	Repaired bool
	// Comment stands behind a single value in its line, with its "#".
	Comment string
	// Unread reports that an earlier entry has the same name; that one counts.
	Unread bool
}

// ReadFields returns the entries of a file's frontmatter in the order written,
// repaired as Parse repairs them. Without frontmatter the error is ErrNotAgent.
func ReadFields(src []byte) ([]Field, error) {
	text, _ := decodeText(src)
	f, ok := splitFrontmatter(text)
	if !ok {
		return nil, ErrNotAgent
	}
	p := &parser{}
	fields := p.fields(f)
	return written(fields, p.problems), nil
}

func written(fields []field, repairs []Problem) []Field {
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
		w.Repaired = slices.ContainsFunc(repairs, func(p Problem) bool {
			return p.Line == f.line && strings.Contains(p.Text, "read as: ")
		})
		out = append(out, w)
	}
	return out
}
