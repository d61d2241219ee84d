package defedit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/defs"
)

// entry is a field with the lines that it was written in.
type entry struct {
	defs.Field
	comments []string // the lines of comment above it
	block    []string // the field's own lines
	trailing bool     // comments at the end that belong to no field
}

// entries pairs the fields with their lines. A comment at the beginning of a line
// belongs to the field after it.
func (f file) entries(fields []defs.Field) []entry {
	var out []entry
	var comments []string
	at := 0
	for i, field := range fields {
		start, end := field.Line-f.first, len(f.front)
		if i+1 < len(fields) {
			end = fields[i+1].Line - f.first
		}
		start, end = min(max(start, at), len(f.front)), min(max(end, at), len(f.front))
		above, _ := splitComments(f.front[at:start], "")
		e := entry{Field: field}
		comments = append(comments, above...)
		e.comments = comments
		comments, e.block = splitComments(f.front[start:max(start, end)], e.Text)
		out = append(out, e)
		at = max(start, end)
	}
	rest, _ := splitComments(f.front[at:], "")
	if comments = append(comments, rest...); len(comments) > 0 {
		out = append(out, entry{comments: comments, trailing: true})
	}
	return out
}

// splitComments separates the comments at the beginning of a line, and trailing blank
// lines, from lines. Lines that are part of text are not comments.
func splitComments(lines []string, text string) (comments, rest []string) {
	for _, l := range lines {
		if strings.HasPrefix(l, "#") && !strings.Contains(text, strings.TrimSpace(l)) {
			comments = append(comments, strings.TrimRight(l, " \t"))
			continue
		}
		rest = append(rest, l)
	}
	for len(rest) > 0 && strings.TrimSpace(rest[len(rest)-1]) == "" {
		rest = rest[:len(rest)-1]
	}
	return comments, rest
}

// name returns the name that the field is written with.
func (e entry) name(from defs.Source) string {
	if e.Name == "" || e.Name == "oneShot" && from != defs.BuiltIn {
		return e.Key
	}
	return e.Name
}

// lines returns the lines to write for the entry.
func (e entry) lines(from defs.Source) []string {
	out := slices.Clone(e.comments)
	switch {
	case e.trailing:
		return out
	case e.Unread:
		for _, l := range e.block {
			out = append(out, strings.TrimRight("# "+l, " \t"))
		}
		return out
	}
	text, comment, err := e.text(e.name(from))
	if err != nil {
		// Unchanged. Format reports it if that is not YAML.
		return append(out, e.block...)
	}
	if comment != e.Comment {
		out = append(out, e.Comment)
	}
	return append(out, text)
}

// text returns the first form of the entry that parses to the same value, and the
// comment in it.
func (e entry) text(name string) (text, comment string, err error) {
	for _, form := range e.forms(name) {
		if comment, ok := e.parsesBack(form, name); ok {
			return form, comment, nil
		}
	}
	return "", "", errNoForm
}

// forms returns the ways to write the entry, the best one first.
func (e entry) forms(name string) []string {
	key := keyText(name)
	verbatim := e.verbatim(key)
	if verbatim != "" && hasInlineComments(e.block) {
		return []string{verbatim}
	}
	if items, ok := e.items(); ok {
		return append(listForms(key, items, e.Comment), verbatim)
	}
	if e.Single {
		return append(e.singleForms(key), verbatim)
	}
	return []string{verbatim, key + ": " + printable(e.Value)}
}

// verbatim returns the entry as it was written, except for the name.
func (e entry) verbatim(key string) string {
	text := strings.Join(e.block, "\n")
	if rest, ok := strings.CutPrefix(text, e.Key+":"); ok {
		return key + ":" + rest
	}
	return text
}

// hasInlineComments reports comments that only a verbatim copy keeps.
func hasInlineComments(block []string) bool {
	return len(block) > 1 && slices.ContainsFunc(block, func(l string) bool {
		l = strings.TrimSpace(l)
		return strings.HasPrefix(l, "#") || strings.Contains(l, " #")
	})
}

// items returns the members of a field whose value is a list of names.
func (e entry) items() (items []string, ok bool) {
	switch e.Name {
	case "tools", "disallowedTools", "skills", "requiredMcpServers":
	default:
		return nil, false
	}
	if e.Single {
		items = defs.SplitTools(strings.Trim(e.Text, "[]"))
		return items, len(items) > 0 && !e.Plain
	}
	var values []any
	if json.Unmarshal(e.Value, &values) != nil {
		return nil, false
	}
	for _, v := range values {
		text, isText := v.(string)
		if !isText {
			return nil, false
		}
		items = append(items, defs.SplitTools(text)...)
	}
	return items, true
}

// parsesBack reports whether form is one entry of this name and value, and returns the
// comment after it.
func (e entry) parsesBack(form, name string) (comment string, ok bool) {
	if form == "" {
		return "", false
	}
	fields, err := defs.ReadFields([]byte("---\n" + form + "\n---\n"))
	if err != nil || len(fields) != 1 || fields[0].Repaired || fields[0].Key != name {
		return "", false
	}
	return fields[0].Comment, e.equals(entry{Field: fields[0]})
}

// equals compares values as Parse sees them.
func (e entry) equals(got entry) bool {
	if want, ok := e.items(); ok {
		items, _ := got.items()
		return slices.Equal(items, want)
	}
	if e.Single && e.Name != "" && !e.Plain {
		return got.Single && !got.Plain && strings.TrimSpace(got.Text) == strings.TrimSpace(e.Text)
	}
	return got.Text == e.Text && got.Single == e.Single && bytes.Equal(got.Value, e.Value)
}
