package defs

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxEntries bounds how many top-level entries are parsed one by one.
const maxEntries = 200

// entry is a key at column 0 with the lines up to the next one.
type entry struct {
	key   string
	first string   // what follows the key in its own line
	more  []string // the lines below it
	line  int
	spill bool // some line of more stands at column 0 without being YAML
}

// repairQuotes is the second pass: each entry is read alone, and one that is
// not YAML is read as if its value were quoted. ok is false when an entry that
// needs repair goes on over lines that only the third pass can attribute.
func (p *parser) repairQuotes(f frontmatter) (fields []field, ok bool) {
	entries, lead := cutEntries(f, func(*entry, string) bool { return true })
	if len(entries) == 0 || len(entries) > maxEntries || lead || repeats(entries) {
		return nil, false
	}
	var repaired []int
	for i := range entries {
		e := &entries[i]
		if e.spill || isDialogue(e.key) {
			return nil, false
		}
		node, err := e.yaml()
		if err != nil {
			node = e.quoted()
			repaired = append(repaired, i)
		}
		fields = append(fields, field{e.key, e.line, node})
	}
	for _, i := range repaired {
		p.warnRepair("quotes were missing", fields[i])
	}
	return fields, true
}

// recoverLines is the third pass: known keys at column 0 start an entry, and
// inside prose everything else continues it.
func (p *parser) recoverLines(f frontmatter) []field {
	seen := map[string]bool{}
	count := 0
	entries, lead := cutEntries(f, func(cur *entry, key string) bool {
		if count >= maxEntries {
			return false // before any work on a line: there may be a million
		}
		known := canonicalField(key)
		if cur != nil && isProse(cur.key) && (known == "" && (cur.spill || isDialogue(key)) || seen[known]) {
			return false
		}
		count++
		if known != "" {
			seen[known] = true
		}
		return true
	})
	if lead {
		p.warn(f.frontLine, "text before the first field is ignored")
	}
	var fields []field
	for i := range entries {
		e := &entries[i]
		node, err := e.yaml()
		if err == nil && !e.spill {
			fields = append(fields, field{e.key, e.line, node})
			continue
		}
		fl := field{e.key, e.line, e.quoted()}
		fields = append(fields, fl)
		p.warnRepair("not valid YAML, recovered line by line", fl)
	}
	return fields
}

// warnRepair warns about a repair and shows the repaired value.
func (p *parser) warnRepair(what string, f field) {
	shown := strconv.Quote(shorten(f.node.Value, 160))
	if f.node.Kind == yaml.SequenceNode {
		var items []string
		for _, c := range f.node.Content {
			items = append(items, strconv.Quote(shorten(c.Value, 60)))
		}
		shown = shorten("["+strings.Join(items, ", ")+"]", 200)
	}
	p.warn(f.line, "%s, read as: %s: %s", what, f.key, shown)
}

// cutEntries groups lines under keys. starts decides whether a line that looks
// like a key is one; lead reports text before the first.
func cutEntries(f frontmatter, starts func(cur *entry, key string) bool) (entries []entry, lead bool) {
	var cur *entry
	for i, line := range f.front {
		if key, value, ok := cutKey(line); ok && starts(cur, key) {
			entries = append(entries, entry{key: key, first: value, line: f.frontLine + i})
			cur = &entries[len(entries)-1]
			continue
		}
		if cur == nil {
			lead = lead || strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#")
			continue
		}
		cur.more = f.front[cur.line-f.frontLine+1 : i+1]
		cur.spill = cur.spill || spills(line)
	}
	return entries, lead
}

// spills reports a line at column 0 that cannot continue a YAML value.
func spills(line string) bool {
	if line == "" {
		return false
	}
	switch line[0] {
	case ' ', '\t', '#', ']', '}':
		return false
	case '-':
		return line != "-" && !strings.HasPrefix(line, "- ")
	}
	return true
}

func repeats(entries []entry) bool {
	seen := make(map[string]bool, len(entries))
	for _, e := range entries {
		if canonicalField(e.key) == "" && seen[e.key] {
			return true
		}
		seen[e.key] = true
	}
	return false
}

// isDialogue names the keys that examples put at column 0 in a description.
func isDialogue(key string) bool {
	return slices.Contains([]string{"user", "assistant", "human", "context", "commentary", "example", "examples"}, strings.ToLower(key))
}

func isProse(key string) bool {
	k := canonicalField(key)
	return k == "description" || k == "initialPrompt"
}

// yaml reads the entry on its own.
func (e *entry) yaml() (*yaml.Node, error) {
	if e.size() > maxYAML {
		return nil, errTooLong
	}
	text := e.key + ": " + e.first + "\n" + strings.Join(e.more, "\n")
	fields, err := strictYAML(text, e.line)
	if err != nil || len(fields) != 1 {
		return nil, errOrSplit(err)
	}
	return fields[0].node, nil
}

func (e *entry) size() int {
	n := len(e.first)
	for _, l := range e.more {
		n += len(l) + 1
	}
	return n
}

// quoted reads the entry's text as a plain value, or as a list when it is the
// kind of field that holds one.
func (e *entry) quoted() *yaml.Node {
	if isList(e.key) {
		if items := e.items(); len(items) > 0 {
			return listNode(items, e.line)
		}
	}
	return textNode(e.text(), e.line)
}

// items reads "[a, b]", "a, b" and lines of "- a".
func (e *entry) items() []string {
	head := strings.TrimSuffix(strings.TrimPrefix(e.first, "["), "]")
	items := SplitTools(head)
	for _, l := range e.more {
		l = strings.TrimSpace(l)
		l = strings.TrimSpace(strings.TrimPrefix(l, "-"))
		items = append(items, SplitTools(strings.Trim(l, "[],"))...)
	}
	for i := range items {
		items[i] = unquote(items[i])
	}
	return items
}

// text joins the lines of a value. Lines that are all indented fold into one,
// as in YAML; a value that spilled to column 0 keeps its lines.
func (e *entry) text() string {
	first := e.first
	if strings.HasPrefix(first, "|") || strings.HasPrefix(first, ">") {
		return strings.TrimSpace(strings.Join(dedent(e.more), "\n"))
	}
	sep := " "
	if e.spill {
		sep = "\n"
	}
	return unquote(strings.TrimSpace(first + sep + strings.Join(dedent(e.more), sep)))
}

func dedent(lines []string) []string {
	indent := -1
	for _, l := range lines {
		if strings.TrimSpace(l) == "" {
			continue
		}
		if n := len(l) - len(strings.TrimLeft(l, " \t")); indent < 0 || n < indent {
			indent = n
		}
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.TrimRight(l[min(max(indent, 0), len(l)):], " \t")
	}
	return out
}

// unquote removes quotes around a value that YAML could not read with them.
func unquote(s string) string {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return strings.NewReplacer(`\"`, `"`, `\n`, "\n", `\t`, "\t", `\\`, `\`).Replace(s[1 : len(s)-1])
	}
	if len(s) >= 2 && s[0] == '\'' && s[len(s)-1] == '\'' {
		return strings.ReplaceAll(s[1:len(s)-1], "''", "'")
	}
	if n := len(s); n > 1 && (s[0] == '"' || s[0] == '\'') && strings.IndexByte(s[1:], s[0]) < 0 {
		return s[1:] // the closing quote was forgotten
	}
	return s
}
