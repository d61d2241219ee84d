package prompt

import (
	"path/filepath"
	"slices"
	"strings"
)

// imports removes the HTML comments of a text and inserts the files that it imports as
// @path, outside of code. chain holds the importing files, the first one first.
func (r *reader) imports(text, path, within string, chain []string) string {
	var out []string
	fence, comment := "", false
	for i, line := range strings.Split(text, "\n") {
		if fence == "" {
			var cut bool
			if line, comment, cut = uncomment(line, comment); cut && strings.TrimSpace(line) == "" {
				continue
			}
		}
		out = append(out, line)
		switch mark := fenceOf(line); {
		case fence == "" && mark != "":
			fence = mark
		case fence != "" && strings.HasPrefix(mark, fence) && strings.Trim(line, " `~\t") == "":
			fence = ""
		case fence == "":
			for _, target := range mentions(line) {
				if body, ok := r.include(target, path, i+1, within, chain); ok {
					out = append(out, body)
				}
			}
		}
	}
	return strings.Join(out, "\n")
}

// uncomment removes the parts of a line inside an HTML comment that begins a line; inside
// reports whether one is open.
func uncomment(line string, inside bool) (rest string, open, cut bool) {
	if !inside {
		if !strings.HasPrefix(strings.TrimSpace(line), "<!--") {
			return line, false, false
		}
		line = strings.TrimPrefix(strings.TrimSpace(line), "<!--")
	}
	_, after, closed := strings.Cut(line, "-->")
	return after, !closed, true
}

func fenceOf(line string) string {
	line = strings.TrimLeft(line, " ")
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return strings.Repeat(c, n)
		}
	}
	return ""
}

// mentions returns the paths that a line imports as @path, outside code spans.
func mentions(line string) []string {
	var out []string
	for i, part := range strings.Split(line, "`") {
		if i%2 == 1 {
			continue
		}
		for word := range strings.FieldsSeq(part) {
			target, ok := strings.CutPrefix(strings.TrimLeft(word, "(\"'*_"), "@")
			target = strings.TrimRight(target, ".,;:!?)\"'*_")
			if ok && isPath(target) {
				out = append(out, target)
			}
		}
	}
	return out
}

// isPath distinguishes a path from the name of a person or of a package.
func isPath(s string) bool {
	return strings.HasPrefix(s, "~/") || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") || strings.HasPrefix(s, "/") ||
		len(filepath.Ext(s)) > 1 && !strings.HasSuffix(s, "/")
}

// include returns the text of an imported file.
func (r *reader) include(target, from string, line int, within string, chain []string) (string, bool) {
	path := target
	if rest, home := strings.CutPrefix(target, "~/"); home {
		if r.o.Home == "" {
			return "", false
		}
		path = filepath.Join(r.o.Home, rest)
	} else if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(chain[len(chain)-1]), path)
	}
	resolved := real(path)
	switch {
	case within != "" && !inside(resolved, within):
		r.note(from, line, "@%s is not imported: it lies outside the project; import it from the user's own CLAUDE.md, or copy it", target)
		return "", false
	case slices.Contains(chain, resolved):
		r.note(from, line, "@%s is not imported: it imports itself", target)
		return "", false
	case len(chain) > maxImportDepth:
		r.note(from, line, "@%s is not imported: imports go %d files deep at most", target, maxImportDepth)
		return "", false
	}
	text, err := readText(path)
	if err != nil {
		r.note(from, line, "@%s is not imported: %s", target, reason(err))
		return "", false
	}
	if r.size+len(text) > maxAll {
		r.note(from, line, "@%s is not imported: the instructions together are larger than %d bytes; shorten them", target, maxAll)
		return "", false
	}
	r.size += len(text)
	return strings.TrimSpace(r.imports(text, path, within, append(slices.Clone(chain), resolved))), true
}

func inside(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
