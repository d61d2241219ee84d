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

// Format returns src with its frontmatter in canonical form: the fields in the order of
// defs.Fields, then unknown fields in their own order, names spelt as documented,
// quotes only where they are needed, lists of tools separated by commas. It does not
// change the body. path and from are those of defs.Parse. The error is why a file was
// not formatted.
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
	f := splitFences(src, before.Line)
	out := f.join(canonicalLines(f.entries(fields), from))
	after, _, err := defs.Parse(path, out, from)
	if err != nil {
		return nil, fmt.Errorf("%s was not formatted, as it would no longer load: %w", path, err)
	}
	if field := differingField(before, after); field != "" {
		return nil, fmt.Errorf("%s was not formatted, as its %s would not stay the same; write the field in a simpler way", path, field)
	}
	return out, nil
}

// differingField returns the first field in which two definitions differ, except for
// where they were read from.
func differingField(a, b defs.Definition) string {
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

// file is a definition split at its fences.
type file struct {
	front []string // without line ends
	first int      // line of front[0], counted from 1
	body  []byte   // what follows the closing fence
	eol   string
}

// splitFences finds the fences that defs.Parse finds. bodyLine is where Parse found the
// body; it is needed if the closing fence is missing.
func splitFences(src []byte, bodyLine int) file {
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

// splitLines splits after "\n", "\r\n" and single "\r".
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

// join returns the text of the file.
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

// canonicalLines returns the lines of the frontmatter in canonical order.
func canonicalLines(entries []entry, from defs.Source) []string {
	known := defs.Fields()
	rank := func(e entry) int {
		at := slices.IndexFunc(known, func(i defs.FieldInfo) bool { return i.Name == e.name(from) })
		switch {
		case e.trailing:
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

// errNoForm reports a value that none of the forms preserves.
var errNoForm = errors.New("no form preserves the value")
