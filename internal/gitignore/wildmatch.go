package gitignore

import "strings"

// wildmatch matches a path against a pattern as git does with the rule that
// "*", "?" and "[…]" do not match a slash, and "**" between slashes matches any
// number of folders. A malformed pattern matches nothing.
func wildmatch(pattern, path string) bool {
	m := matcher{pattern: pattern, path: path, failed: make(map[[2]int]bool)}
	return m.match(0, 0)
}

// matcher remembers the pairs of positions that led nowhere, so that a hostile
// pattern costs pattern times path steps, not an exponential number.
type matcher struct {
	pattern, path string
	failed        map[[2]int]bool
}

func (m *matcher) match(p, s int) bool {
	if m.failed[[2]int{p, s}] {
		return false
	}
	ok := m.step(p, s)
	if !ok {
		m.failed[[2]int{p, s}] = true
	}
	return ok
}

func (m *matcher) step(p, s int) bool {
	for p < len(m.pattern) {
		if m.pattern[p] == '*' {
			return m.star(p, s)
		}
		if s >= len(m.path) {
			return false
		}
		next, ok := m.one(p, m.path[s])
		if !ok {
			return false
		}
		p, s = next, s+1
	}
	return s == len(m.path)
}

// one matches a single character and returns where the pattern continues.
func (m *matcher) one(p int, c byte) (next int, ok bool) {
	switch m.pattern[p] {
	case '?':
		return p + 1, c != '/'
	case '[':
		return matchClass(m.pattern, p, c)
	case '\\':
		p++
		return p + 1, p < len(m.pattern) && m.pattern[p] == c
	}
	return p + 1, m.pattern[p] == c
}

// star matches a run of asterisks at p.
func (m *matcher) star(p, s int) bool {
	end := p
	for end < len(m.pattern) && m.pattern[end] == '*' {
		end++
	}
	rest := m.pattern[end:]
	folders := end-p >= 2 && (p == 0 || m.pattern[p-1] == '/') &&
		(rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`))
	if folders && rest != "" && rest[0] == '/' && m.match(end+1, s) {
		return true // "**/" is no folder at all
	}
	for i := s; i <= len(m.path); i++ {
		if m.match(end, i) {
			return true
		}
		if i < len(m.path) && m.path[i] == '/' && !folders {
			return false
		}
	}
	return false
}

// matchClass matches c against the bracket expression at p.
func matchClass(pattern string, p int, c byte) (next int, ok bool) {
	p++
	negated := p < len(pattern) && (pattern[p] == '!' || pattern[p] == '^')
	if negated {
		p++
	}
	hit, last := false, byte(0)
	for first := true; ; first = false {
		if p >= len(pattern) {
			return p, false
		}
		ch := pattern[p]
		switch {
		case ch == ']' && !first:
			return p + 1, hit != negated && c != '/'
		case ch == '-' && last != 0 && p+1 < len(pattern) && pattern[p+1] != ']':
			p++
			if pattern[p] == '\\' {
				p++
			}
			if p >= len(pattern) {
				return p, false
			}
			hit = hit || last <= c && c <= pattern[p]
			last = 0
		case ch == '[' && p+1 < len(pattern) && pattern[p+1] == ':':
			name, after, closed := className(pattern, p+2)
			if !closed {
				hit, last = hit || c == '[', '['
				break
			}
			in, known := inClass(name, c)
			if !known {
				return p, false
			}
			hit, last, p = hit || in, 0, after-1
		default:
			if ch == '\\' {
				if p++; p >= len(pattern) {
					return p, false
				}
				ch = pattern[p]
			}
			hit, last = hit || c == ch, ch
		}
		p++
	}
}

// className reads the name of a "[:name:]" from p; closed is false if the
// next "]" does not follow a colon.
func className(pattern string, p int) (name string, after int, closed bool) {
	i := strings.IndexByte(pattern[p:], ']')
	if i < 1 || pattern[p+i-1] != ':' {
		return "", 0, false
	}
	return pattern[p : p+i-1], p + i + 1, true
}

func inClass(name string, c byte) (in, known bool) {
	lower, upper, digit := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9'
	graph := c > ' ' && c < 0x7f
	switch name {
	case "alnum":
		return lower || upper || digit, true
	case "alpha":
		return lower || upper, true
	case "blank":
		return c == ' ' || c == '\t', true
	case "cntrl":
		return c < ' ' || c == 0x7f, true
	case "digit":
		return digit, true
	case "graph":
		return graph, true
	case "lower":
		return lower, true
	case "print":
		return graph || c == ' ', true
	case "punct":
		return graph && !lower && !upper && !digit, true
	case "space":
		return c == ' ' || '\t' <= c && c <= '\r', true
	case "upper":
		return upper, true
	case "xdigit":
		return digit || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F', true
	}
	return false, false
}
