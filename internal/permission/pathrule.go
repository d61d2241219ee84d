package permission

import (
	"path/filepath"
	"strings"
)

// pathPattern is a gitignore-like pattern that starts from a directory.
type pathPattern struct {
	base  string   // absolute and clean
	parts []string // "**" stands for any number of directories
}

// patterns parses a specifier. "//x" is absolute, "~/x" below home, "/x" below
// base, and anything else below each of from; without a slash before its end it
// matches at any depth.
func (l location) patterns(spec, base string, from []string) []pathPattern {
	switch {
	case strings.HasPrefix(spec, "//"):
		return []pathPattern{splitPattern("/", spec[1:])}
	case spec == "~" || strings.HasPrefix(spec, "~/"):
		return []pathPattern{splitPattern(filepath.Clean(l.home), spec[1:])}
	case strings.HasPrefix(spec, "/"):
		return []pathPattern{splitPattern(base, spec)}
	}
	var out []pathPattern
	rooted := strings.HasPrefix(spec, "./")
	spec = strings.TrimPrefix(spec, "./")
	for _, dir := range from {
		p := splitPattern(dir, spec)
		if len(p.parts) == 1 && !rooted {
			p.parts = append([]string{"**"}, p.parts...)
		}
		out = append(out, p)
	}
	return out
}

// splitPattern splits spec into its parts and moves leading ".." into the base.
func splitPattern(base, spec string) pathPattern {
	p := pathPattern{base: filepath.Clean("/" + base)}
	for part := range strings.SplitSeq(spec, "/") {
		switch {
		case part == "" || part == ".":
		case part == ".." && len(p.parts) == 0:
			p.base = filepath.Dir(p.base)
		default:
			p.parts = append(p.parts, part)
		}
	}
	return p
}

// matches reports whether p names path or a directory above it.
func (p pathPattern) matches(path string, fold bool) bool {
	base := p.base
	if fold {
		path, base = strings.ToLower(path), strings.ToLower(base)
	}
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(base, "/")+"/")
	if !ok {
		return path == base && len(p.parts) == 0 || path == base && strings.Join(p.parts, "/") == "**"
	}
	return matchParts(p.parts, strings.Split(rest, "/"), fold)
}

// matchParts tracks the set of positions in the pattern that the path so far may
// have reached, so that "**/**/**" takes no exponential time.
func matchParts(pattern, path []string, fold bool) bool {
	if len(pattern) == 0 {
		return true
	}
	at := make([]bool, len(pattern)+1)
	at[0] = true
	skipStars(pattern, at)
	for i, part := range path {
		next := make([]bool, len(pattern)+1)
		for j, on := range at[:len(pattern)] {
			switch {
			case !on:
			case pattern[j] == "**":
				next[j] = true
				next[j+1] = next[j+1] || j == len(pattern)-1
			case matchPart(pattern[j], part, fold):
				next[j+1] = true
			}
		}
		skipStars(pattern, next)
		if next[len(pattern)] && (pattern[len(pattern)-1] != "**" || i >= 0) {
			return true // the path itself, or a directory above it
		}
		at = next
	}
	return false
}

// skipStars lets "**" match no directory, except at the end of a pattern: "dir/**"
// does not name dir itself.
func skipStars(pattern []string, at []bool) {
	for j, p := range pattern[:len(pattern)-1] {
		if at[j] && p == "**" {
			at[j+1] = true
		}
	}
}

// matchPart matches one name. A malformed pattern matches only itself.
func matchPart(pattern, name string, fold bool) bool {
	pattern = strings.ReplaceAll(pattern, "[!", "[^") // as gitignore negates
	if fold {
		pattern = strings.ToLower(pattern)
	}
	if ok, err := filepath.Match(pattern, name); err == nil {
		return ok
	}
	return pattern == name
}
