package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

// maxOutput bounds what one template may produce.
const maxOutput = 4 << 20

// text is a template of the file.
type text struct {
	line int
	tmpl *template.Template // nil: plain, as most texts are
	raw  string
}

func newText(src string, line int) (*text, error) {
	t := &text{line: line, raw: src}
	if !strings.Contains(src, "{{") {
		return t, nil
	}
	tmpl, err := template.New("script").Option("missingkey=error").Funcs((&view{}).funcs()).Parse(src)
	if err != nil {
		return nil, fmt.Errorf("line %d: the template is not valid: %s", line, shorten(err))
	}
	t.tmpl = tmpl
	return t, nil
}

// run executes the template on the conversation; a nil text is empty.
func (t *text) run(v *view) (string, error) {
	if t == nil || t.tmpl == nil {
		if t == nil {
			return "", nil
		}
		return t.raw, nil
	}
	bound, err := t.tmpl.Clone()
	if err != nil {
		return "", fmt.Errorf("line %d: %w", t.line, err)
	}
	var out limited
	if err := bound.Funcs(v.funcs()).Execute(&out, v); err != nil {
		return "", fmt.Errorf("line %d: the template failed: %s", t.line, shorten(err))
	}
	return out.String(), nil
}

// shorten removes the position inside the template from an error, since people need the
// line of the file.
func shorten(err error) string {
	return regexp.MustCompile(`^template: script:(\d+:)*\s*(executing "script" at )?`).ReplaceAllString(err.Error(), "")
}

// limited is a buffer of limited size.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxOutput {
		return 0, fmt.Errorf("it makes more than %d bytes", maxOutput)
	}
	return l.Buffer.Write(p)
}

// funcs are what templates can call.
func (v *view) funcs() template.FuncMap {
	return template.FuncMap{
		"results":    v.resultsOf,
		"lastResult": v.lastResult,
		"result":     v.result,
		"mail":       v.mail,
		"lines":      lines,
		"count":      count,
		"head":       head,
		"tail":       tail,
		"trim":       strings.TrimSpace,
		"upper":      strings.ToUpper,
		"lower":      strings.ToLower,
		"join":       func(sep string, list []string) string { return strings.Join(list, sep) },
		"split":      func(sep, s string) []string { return strings.Split(s, sep) },
		"replace":    func(old, new, s string) string { return strings.ReplaceAll(s, old, new) },
		"contains":   func(sub, s string) bool { return strings.Contains(s, sub) },
		"regex":      find,
		"match":      matches,
		"grep":       grep,
		"sort":       func(list []string) []string { return slices.Sorted(slices.Values(list)) },
		"uniq":       uniq,
		"json":       encode,
	}
}

// resultsOf returns the results of a tool (a pattern) so far, in order.
func (v *view) resultsOf(tool string) []string {
	out := []string{}
	for _, r := range v.results {
		if glob(tool, r.tool) {
			out = append(out, r.text)
		}
	}
	return out
}

func (v *view) lastResult(tool string) string {
	if all := v.resultsOf(tool); len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// result returns the newest result of the call with a name. A name without a result is a
// mistake in the script, not an empty text.
func (v *view) result(name string) (string, error) {
	for _, r := range slices.Backward(v.results) {
		if r.as == name {
			return r.text, nil
		}
	}
	return "", fmt.Errorf("there is no result of a call named %q yet", name)
}

// mail returns what a sender (a pattern) wrote so far, in order.
func (v *view) mail(from string) []string {
	out := []string{}
	for _, l := range v.mails {
		if glob(from, l.from) {
			out = append(out, l.text)
		}
	}
	return out
}

// lines returns the lines of a text, or of several, that are not blank.
func lines(v any) ([]string, error) {
	var texts []string
	switch v := v.(type) {
	case string:
		texts = []string{v}
	case []string:
		texts = v
	default:
		return nil, fmt.Errorf("lines wants text, not %T", v)
	}
	out := []string{}
	for _, t := range texts {
		for l := range strings.Lines(t) {
			if l = strings.TrimRight(l, "\r\n"); strings.TrimSpace(l) != "" {
				out = append(out, l)
			}
		}
	}
	return out, nil
}

// count returns how many members a list has or how many lines a text.
func count(v any) (int, error) {
	if list, ok := v.([]string); ok {
		return len(list), nil
	}
	l, err := lines(v)
	return len(l), err
}

// head keeps the first n members of a list or lines of a text.
func head(n int, v any) (any, error) {
	return part(v, func(l []string) []string { return l[:min(max(n, 0), len(l))] })
}

// tail keeps the last n.
func tail(n int, v any) (any, error) {
	return part(v, func(l []string) []string { return l[max(0, len(l)-max(n, 0)):] })
}

func part(v any, keep func([]string) []string) (any, error) {
	switch v := v.(type) {
	case []string:
		return keep(v), nil
	case string:
		l, err := lines(v)
		return strings.Join(keep(l), "\n"), err
	}
	return nil, errors.New("head and tail want a list or a text")
}

// find returns all matches of a pattern: their first group if there is one.
func find(pattern, s string) ([]string, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	out := []string{}
	for _, m := range re.FindAllStringSubmatch(s, -1) {
		out = append(out, m[min(1, len(m)-1)])
	}
	return out, nil
}

func matches(pattern, s string) (bool, error) {
	re, err := regexp.Compile(pattern)
	return err == nil && re.MatchString(s), err
}

// grep keeps the members of a list, or the lines of a text, that match.
func grep(pattern string, v any) ([]string, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	list, ok := v.([]string)
	if !ok {
		if list, err = lines(v); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return !re.MatchString(s) }), nil
}

// uniq drops repeated members and keeps the order.
func uniq(list []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool {
		again := seen[s]
		seen[s] = true
		return again
	})
}

func encode(v any) (string, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSpace(buf.String()), nil
}
