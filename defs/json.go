package defs

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

type rawJSON = json.RawMessage

// jsonBudget bounds how many nodes a value may have once its aliases are
// written out; jsonDepth how deep they may lie.
const (
	jsonBudget = 20000
	jsonDepth  = 100
)

var (
	errTooBig  = errors.New("it is too large once its aliases are written out")
	errTooDeep = errors.New("it is nested too deeply")
)

// toJSON writes a YAML value as JSON, keys in the order of the file.
func toJSON(n *yaml.Node) (json.RawMessage, error) {
	w := &jsonWriter{budget: jsonBudget}
	if err := w.value(n, 0); err != nil {
		return nil, err
	}
	return w.buf.Bytes(), nil
}

type jsonWriter struct {
	buf    bytes.Buffer
	budget int
}

func (w *jsonWriter) value(n *yaml.Node, depth int) error {
	if w.budget--; w.budget < 0 {
		return errTooBig
	}
	if depth > jsonDepth {
		return errTooDeep
	}
	n = resolve(n)
	switch n.Kind {
	case yaml.MappingNode:
		return w.object(n, depth)
	case yaml.SequenceNode:
		return w.array(n, depth)
	}
	return w.scalar(n)
}

func (w *jsonWriter) object(n *yaml.Node, depth int) error {
	w.buf.WriteByte('{')
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := resolve(n.Content[i]).Value
		if seen[key] {
			continue // the first one counts, as at the top level
		}
		if len(seen) > 0 {
			w.buf.WriteByte(',')
		}
		seen[key] = true
		if err := w.string(key); err != nil {
			return err
		}
		w.buf.WriteByte(':')
		if err := w.value(n.Content[i+1], depth+1); err != nil {
			return err
		}
	}
	w.buf.WriteByte('}')
	return nil
}

func (w *jsonWriter) array(n *yaml.Node, depth int) error {
	w.buf.WriteByte('[')
	for i, c := range n.Content {
		if i > 0 {
			w.buf.WriteByte(',')
		}
		if err := w.value(c, depth+1); err != nil {
			return err
		}
	}
	w.buf.WriteByte(']')
	return nil
}

// scalar keeps null, booleans and numbers that JSON can write as they are.
func (w *jsonWriter) scalar(n *yaml.Node) error {
	switch n.ShortTag() {
	case "!!null":
		w.buf.WriteString("null")
		return nil
	case "!!bool":
		w.buf.WriteString(strconv.FormatBool(strings.EqualFold(n.Value, "true")))
		return nil
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			w.buf.WriteString(n.Value)
			return nil
		}
	}
	return w.string(n.Value)
}

func (w *jsonWriter) string(s string) error {
	enc := json.NewEncoder(&w.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return err
	}
	w.buf.Truncate(w.buf.Len() - 1) // the newline Encode adds
	return nil
}
