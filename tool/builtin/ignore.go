package builtin

import (
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// ignoreRule is one line of a .gitignore, or a glob of Grep.
type ignoreRule struct {
	pattern  string
	negated  bool // a "!" line takes back what an earlier one ignored
	dirOnly  bool // a trailing slash
	anchored bool // a slash elsewhere: the whole path below base must match
	base     string
}

// parseIgnore reads the lines of a .gitignore that lies in the folder base, a
// slash path relative to the root of the walk, "" for the root itself.
func parseIgnore(text, base string) []ignoreRule {
	var rules []ignoreRule
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if r, ok := parseRule(trimSpaces(line), base); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

func parseRule(line, base string) (ignoreRule, bool) {
	if line == "" || line[0] == '#' {
		return ignoreRule{}, false
	}
	r := ignoreRule{base: base}
	if line[0] == '!' {
		r.negated, line = true, line[1:]
	}
	if n := len(line); n > 0 && line[n-1] == '/' {
		r.dirOnly, line = true, line[:n-1]
	}
	r.anchored = strings.Contains(line, "/")
	r.pattern = strings.TrimPrefix(line, "/")
	return r, r.pattern != ""
}

// trimSpaces cuts the spaces at the end of a line that no backslash keeps.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
			end = min(i+1, len(line))
		case ' ':
		default:
			end = i + 1
		}
	}
	return line[:end]
}

// matches reports whether the rule speaks of the path, relative to the root.
func (r ignoreRule) matches(path string, dir bool) bool {
	if r.dirOnly && !dir {
		return false
	}
	if r.base != "" {
		rest, ok := strings.CutPrefix(path, r.base+"/")
		if !ok {
			return false
		}
		path = rest
	}
	if !r.anchored {
		return wildmatch(r.pattern, path[strings.LastIndexByte(path, '/')+1:])
	}
	// As in git, "**" also stands for folders right after a plain beginning.
	plain := strings.IndexAny(r.pattern+"*", `*?[\`)
	rest, ok := strings.CutPrefix(path, r.pattern[:plain])
	return ok && wildmatch(r.pattern[plain:], rest)
}

// ignores is a stack of rules, weakest first. The zero value ignores nothing.
type ignores []ignoreRule

// skip says whether a path is ignored; the last rule that speaks of it wins.
// Its parents must have been asked before: what lies in an ignored folder is
// never looked at.
func (rules ignores) skip(path string, dir bool) bool {
	for i := len(rules) - 1; i >= 0; i-- {
		if rules[i].matches(path, dir) {
			return !rules[i].negated
		}
	}
	return false
}

// maxIgnoreFile bounds a .gitignore; a larger one is something else.
const maxIgnoreFile = 1 << 20

// with returns the rules with those of the .gitignore in folder added; base is
// the folder relative to the root. An unreadable file counts as none.
func (rules ignores) with(folder, base string) ignores {
	text, err := readSmall(filepath.Join(folder, ".gitignore"), maxIgnoreFile)
	if err != nil {
		return rules
	}
	return slices.Concat(rules, parseIgnore(string(text), base))
}

// readSmall reads at most limit bytes of a regular file.
func readSmall(path string, limit int64) ([]byte, error) {
	f, _, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, limit))
	return text, errors.Join(err, f.Close())
}
