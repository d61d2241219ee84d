package defedit

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/actorswarm/swarm/defs"
)

// Format returns src with its frontmatter in one form: the fields in the order
// of defs.Fields, the unknown ones after them in their own order, names spelt
// as documented, quotes only where they are needed, lists of tools separated by
// commas. The body stays as it is. path and from are those of defs.Parse. The
// error says why a file is left alone.
func Format(path string, src []byte, from defs.Source) ([]byte, error) {
	if !utf8.Valid(src) {
		return nil, fmt.Errorf("%s is not UTF-8 and was not formatted; save it as UTF-8 first", path)
	}
	before, _, err := defs.Parse(path, src, from)
	if err != nil {
		return nil, fmt.Errorf("not formatted: %w", err)
	}
	fields, err := defs.ReadFields(src)
	if err != nil {
		return nil, fmt.Errorf("%s was not formatted: %w", path, err)
	}
	f := cut(src, before.Line)
	out := f.join(arrange(f.entries(fields), from))
	after, _, err := defs.Parse(path, out, from)
	if err != nil {
		return nil, fmt.Errorf("%s was not formatted, as it would no longer load: %w", path, err)
	}
	if field := differs(before, after); field != "" {
		return nil, fmt.Errorf("%s was not formatted, as its %s would not stay the same; write the field in a simpler way", path, field)
	}
	return out, nil
}

// differs names the first field of a definition that two do not share. Where
// they were read from does not count.
func differs(a, b defs.Definition) string {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		field := x.Type().Field(i)
		if !field.IsExported() || slices.Contains([]string{"Path", "Line", "Lines"}, field.Name) {
			continue
		}
		if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			return field.Name
		}
	}
	return ""
}

// file is a definition cut at its fences.
type file struct {
	front []string // without line ends
	first int      // line of front[0], counted from 1
	body  []byte   // what follows the closing fence
	eol   string
}

// cut finds the fences where defs.Parse finds them. bodyLine is where it found
// the body, which matters when the closing fence is missing.
func cut(src []byte, bodyLine int) file {
	lines := splitLines(bytes.TrimPrefix(src, []byte("\xEF\xBB\xBF")))
	open := slices.IndexFunc(lines, func(l []byte) bool { return len(bytes.TrimSpace(l)) > 0 })
	f := file{first: open + 2, eol: "\n"}
	if bytes.HasSuffix(lines[open], []byte("\r\n")) {
		f.eol = "\r\n"
	}
	end := len(lines)
	if bodyLine > 0 {
		end = bodyLine - 1
	}
	rest := end
	for i := open + 1; i < len(lines); i++ {
		if string(bytes.TrimRight(lines[i], " \t\r\n")) == "---" {
			end, rest = i, i+1
			break
		}
	}
	for _, l := range lines[open+1 : end] {
		f.front = append(f.front, string(bytes.TrimRight(l, "\r\n")))
	}
	f.body = bytes.Join(lines[rest:], nil)
	return f
}

// splitLines cuts after "\n", "\r\n" and lone "\r".
func splitLines(src []byte) [][]byte {
	var lines [][]byte
	for len(src) > 0 {
		n := bytes.IndexAny(src, "\r\n") + 1
		switch {
		case n == 0:
			n = len(src)
		case src[n-1] == '\r' && n < len(src) && src[n] == '\n':
			n++
		}
		lines = append(lines, src[:n])
		src = src[n:]
	}
	return lines
}

// join puts a file together again.
func (f file) join(front []string) []byte {
	var b bytes.Buffer
	b.WriteString("---" + f.eol)
	for _, line := range front {
		b.WriteString(strings.ReplaceAll(line, "\n", f.eol) + f.eol)
	}
	b.WriteString("---" + f.eol)
	b.Write(f.body)
	return b.Bytes()
}

// arrange returns the lines of the frontmatter in canonical order.
func arrange(entries []entry, from defs.Source) []string {
	known := defs.Fields()
	rank := func(e entry) int {
		at := slices.IndexFunc(known, func(i defs.FieldInfo) bool { return i.Name == e.name(from) })
		switch {
		case e.loose:
			return len(known) + 1
		case at < 0:
			return len(known)
		}
		return at
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return rank(a) - rank(b) })
	var out []string
	for _, e := range entries {
		out = append(out, e.lines(from)...)
	}
	return out
}

// errNoForm reports a value that no form of ours keeps.
var errNoForm = errors.New("no form keeps the value")
