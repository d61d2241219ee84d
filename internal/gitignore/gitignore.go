// Package gitignore decides which paths the rules of .gitignore files ignore.
//
// Rules are a stack, the weakest first: those of the top folder, then those of each
// folder on the way down. A walk asks about each folder before what lies in it:
//
//	rules := gitignore.Parse(text, "") // the .gitignore of the top folder
//	if rules.Ignore("build", true) {
//		return fs.SkipDir
//	}
//	rules = slices.Concat(rules, gitignore.Parse(more, "sub")) // the one of sub
//	rules.Ignore("sub/a.log", false)
//
// It is for folders that are in no repository; inside of one, git itself is asked.
// docs/decisions/0002-dependencies.md compares it with libraries.
//
// Laws:
//
//   - Agreement: the answer is that of git check-ignore, also for malformed lines
//     (TestIgnoreAgreesWithGit, FuzzIgnore).
//   - Cost: any pattern costs its length times that of the path
//     (TestHostilePatternsEnd).
package gitignore

import "strings"

// Rule is one line of a .gitignore.
type Rule struct {
	pattern  string
	negated  bool // a line with "!": what earlier lines ignored is not ignored
	dirOnly  bool // a trailing slash
	anchored bool // a slash elsewhere: the whole path below base must match
	base     string
}

// Parse reads the lines of a .gitignore that lies in the folder base, a slash path
// relative to the root of the walk, "" for the root itself.
func Parse(text, base string) Rules {
	var rules Rules
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if r, ok := ParseRule(trimSpaces(line), base); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

// ParseRule reads one line. It reports false for a comment and for a line without
// a pattern.
func ParseRule(line, base string) (Rule, bool) {
	if line == "" || line[0] == '#' {
		return Rule{}, false
	}
	r := Rule{base: base}
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

// Match reports whether the rule is about a path, relative to the root, whatever
// it decides.
func (r Rule) Match(path string, dir bool) bool {
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
	// As in git, "**" also matches folders right after a plain beginning.
	plain := strings.IndexAny(r.pattern+"*", `*?[\`)
	rest, ok := strings.CutPrefix(path, r.pattern[:plain])
	return ok && wildmatch(r.pattern[plain:], rest)
}

// Rules is a stack of rules, weakest first. The zero value ignores nothing.
type Rules []Rule

// Ignore reports whether a path is ignored; the last rule that matches it decides.
// The caller asks about its parents first: git never reads an ignored folder.
func (rules Rules) Ignore(path string, dir bool) bool {
	for i := len(rules) - 1; i >= 0; i-- {
		if rules[i].Match(path, dir) {
			return !rules[i].negated
		}
	}
	return false
}
