package defedit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/actorswarm/swarm/defs"
)

// singleForms returns the ways to write a single value: plain, as a block of lines,
// quoted.
func (e entry) singleForms(key string) []string {
	text := e.Text
	if e.Name != "" {
		text = strings.TrimSpace(text)
	}
	switch {
	case e.Plain:
		return []string{withComment(strings.TrimRight(key+": "+text, " "), e.Comment), key + ": " + quote(text)}
	case strings.Contains(text, "\n") && fitsBlock(text):
		return []string{key + ": |-\n" + indented(text), key + ": " + quote(text)}
	case needsNoQuotes(text):
		return []string{withComment(key+": "+text, e.Comment), withComment(key+": "+quote(text), e.Comment)}
	}
	return []string{withComment(key+": "+quote(text), e.Comment)}
}

func withComment(text, comment string) string {
	if comment == "" || strings.Contains(comment, "\n") {
		return text
	}
	return text + " " + comment
}

// listForms writes names separated by commas, or as a list where that would
// not give the same names.
func listForms(key string, items []string, comment string) []string {
	if len(items) == 0 {
		return []string{withComment(key+": []", comment)}
	}
	var forms []string
	joined := strings.Join(items, ", ")
	if strings.Trim(joined, "[]") == joined && slices.Equal(defs.SplitTools(joined), items) {
		value := joined
		if !needsNoQuotes(value) {
			value = quote(value)
		}
		forms = append(forms, withComment(key+": "+value, comment), withComment(key+": "+quote(joined), comment))
	}
	quoted := make([]string, len(items))
	for i, item := range items {
		quoted[i] = quote(item)
	}
	return append(forms, withComment(key+": ["+strings.Join(quoted, ", ")+"]", comment))
}

// needsNoQuotes reports text that clearly needs no quotes. The caller tries whether
// YAML agrees.
func needsNoQuotes(text string) bool {
	return text != "" && strings.TrimSpace(text) == text &&
		!strings.ContainsAny(text[:1], "!&*-?|>@`\"'%#,[]{}:=~") &&
		!strings.Contains(text, ": ") && !strings.Contains(text, " #") && !strings.HasSuffix(text, ":") &&
		!strings.ContainsFunc(text, func(r rune) bool { return r != ' ' && !readable(r) })
}

// fitsBlock reports text whose lines can be written unchanged in a block.
func fitsBlock(text string) bool {
	if strings.HasPrefix(text, " ") || strings.HasSuffix(text, "\n") {
		return false
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimRight(line, " \t") != line || strings.ContainsFunc(line, func(r rune) bool { return r != ' ' && !readable(r) }) {
			return false
		}
	}
	return true
}

func indented(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}

// readable reports runes that a person sees as they are, and the joiner of emoji.
func readable(r rune) bool {
	return unicode.IsGraphic(r) && !unicode.IsSpace(r) || r == ' ' || r == '\u200d'
}

// quote writes text in double quotes, in a form that YAML parses and people can read.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case readable(r):
			b.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// printable escapes what YAML does not accept unescaped in its strings.
func printable(raw json.RawMessage) string {
	var b strings.Builder
	for _, r := range string(raw) {
		if r < 0x7f || readable(r) {
			b.WriteRune(r)
			continue
		}
		if r > 0xffff {
			fmt.Fprintf(&b, `\U%08x`, r)
			continue
		}
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String()
}

// keyText returns the name of a field as YAML.
func keyText(name string) string {
	ok := name != "" && name[0] != '-' && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	})
	if ok {
		return name
	}
	return quote(name)
}
