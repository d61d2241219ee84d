package defs

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// SettingsEntry is one value below a key of a settings file, such as one rule of
// permissions.deny.
type SettingsEntry struct {
	Key    string // such as deny
	Line   int
	Value  json.RawMessage
	Listed bool // the value is an element of a list
}

// Entries returns the values in the object of a key, such as permissions, in the order
// of the file; of a list, each element is one entry. A key that is given twice counts
// twice. Of a file that is broken, it returns the strings in all lists that can be
// recognized. The key "" is the file itself.
func (f SettingsFile) Entries(key string) (all []SettingsEntry, err error) {
	if f.root == nil {
		return salvage(f.text), nil
	}
	if key == "" {
		return objectEntries(f.root)
	}
	for i := 0; i+1 < len(f.root.Content); i += 2 {
		name, object := f.root.Content[i], f.root.Content[i+1]
		if name.Value != key {
			continue
		}
		if object.Kind != yaml.MappingNode {
			return all, fmt.Errorf("%s:%d: %s must be an object, not %s", f.Path, object.Line, key, kind(object))
		}
		entries, err := objectEntries(object)
		all = append(all, entries...)
		if err != nil {
			return all, fmt.Errorf("%s:%d: %s cannot be read: %w", f.Path, object.Line, key, err)
		}
	}
	return all, nil
}

// objectEntries returns the entries of one object.
func objectEntries(object *yaml.Node) (all []SettingsEntry, err error) {
	add := func(key string, n *yaml.Node, listed bool) {
		raw, wrong := toJSON(n)
		if wrong != nil {
			err = wrong
			return
		}
		all = append(all, SettingsEntry{Key: key, Line: n.Line, Value: raw, Listed: listed})
	}
	for i := 0; i+1 < len(object.Content); i += 2 {
		key, value := object.Content[i].Value, object.Content[i+1]
		if value.Kind != yaml.SequenceNode {
			add(key, value, false)
			continue
		}
		for _, n := range value.Content {
			add(key, n, true)
		}
	}
	return all, err
}

// salvage returns the strings of lists in a text that is no valid JSON, under the key
// that stands before each list. It passes over comments and whatever it does not
// understand; a string that is not closed ends with its line.
func salvage(text string) (all []SettingsEntry) {
	key, line, listed := "", 1, false
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\n':
			line++
			i++
		case strings.HasPrefix(text[i:], "//"):
			i += lineLength(text[i:])
		case strings.HasPrefix(text[i:], "/*"):
			_, rest, _ := strings.Cut(text[i+2:], "*/")
			end := len(text) - len(rest)
			line += strings.Count(text[i:end], "\n")
			i = end
		case c == '"':
			value, n := salvageString(text[i:])
			i += n
			switch {
			case strings.HasPrefix(strings.TrimLeft(text[i:], " \t\r\n"), ":"):
				key, listed = value, false
			case listed:
				if raw, err := json.Marshal(value); err == nil {
					all = append(all, SettingsEntry{Key: key, Line: line, Value: raw, Listed: true})
				}
			}
		default:
			if c == '[' || c == ']' || c == '}' {
				listed = c == '['
			}
			i++
		}
	}
	return all
}

// salvageString reads the string that text begins with, and returns its length in text.
func salvageString(text string) (value string, n int) {
	limit := lineLength(text)
	for n = 1; n < limit && text[n] != '"'; n++ {
		if text[n] == '\\' && n+1 < limit {
			n++
		}
	}
	end := min(n, limit)
	n = min(n+1, limit)
	if json.Unmarshal([]byte(text[:end]+`"`), &value) != nil {
		value = text[1:end]
	}
	return value, n
}

// lineLength returns how much of text comes before its first line end.
func lineLength(text string) int {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return i
	}
	return len(text)
}
