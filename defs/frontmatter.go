package defs

import (
	"strings"
)

// frontmatter is a file split in two. Lines are counted from 1 in the file.
type frontmatter struct {
	front     []string
	frontLine int // of front[0]
	body      string
	bodyLine  int // of the first line of body; 0 without one
	fence     int // line of the opening fence
	unclosed  bool
}

// splitFrontmatter cuts text at its fences. It tolerates blank lines and
// blanks before the opening fence; ok is false without one.
func splitFrontmatter(text string) (f frontmatter, ok bool) {
	lines := strings.Split(text, "\n")
	open := 0
	for open < len(lines) && strings.TrimSpace(lines[open]) == "" {
		open++
	}
	if open == len(lines) || strings.TrimSpace(lines[open]) != "---" {
		return f, false
	}
	f.fence, f.frontLine = open+1, open+2
	end := closingFence(lines, open+1)
	if end < 0 {
		f.unclosed = true
		end = guessEnd(lines, open+1)
		f.front = lines[open+1 : end]
		f.setBody(lines, end)
		return f, true
	}
	f.front = lines[open+1 : end]
	f.setBody(lines, end+1)
	return f, true
}

// yamlBreaks are line breaks for YAML, but not for editors.
const yamlBreaks = "\u0085\u2028\u2029"

// text joins the lines of the frontmatter, so that YAML counts them as we do.
func (f *frontmatter) text() string {
	s := strings.Join(f.front, "\n")
	if strings.ContainsAny(s, yamlBreaks) {
		s = strings.NewReplacer("\u0085", " ", "\u2028", " ", "\u2029", " ").Replace(s)
		f.front = strings.Split(s, "\n")
	}
	return s
}

func (f *frontmatter) setBody(lines []string, from int) {
	for from < len(lines) && strings.TrimSpace(lines[from]) == "" {
		from++
	}
	if from == len(lines) {
		return
	}
	f.body = strings.TrimSpace(strings.Join(lines[from:], "\n"))
	f.bodyLine = from + 1
}

func closingFence(lines []string, from int) int {
	for i := from; i < len(lines); i++ {
		if strings.TrimRight(lines[i], " \t") == "---" {
			return i
		}
	}
	return -1
}

// guessEnd finds the end of frontmatter without a closing fence: at the first heading, or
// at a blank line without a key or an indented line after it.
func guessEnd(lines []string, from int) int {
	for i := from; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], "#") {
			return i
		}
		if strings.TrimSpace(lines[i]) == "" && !continuesFront(lines, i+1) {
			return i
		}
	}
	return len(lines)
}

func continuesFront(lines []string, from int) bool {
	if from >= len(lines) {
		return false
	}
	line := lines[from]
	if key, _, ok := cutKey(line); ok {
		return canonicalField(key) != ""
	}
	return strings.HasPrefix(line, " ") && strings.TrimSpace(line) != ""
}

// cutKey splits "key: value" at column 0. Keys are letters, digits, "_" and
// "-", as every field of a definition is.
func cutKey(line string) (key, value string, ok bool) {
	i := 0
	for i < len(line) && isKeyByte(line[i]) {
		i++
	}
	if i == 0 || i == len(line) || line[i] != ':' || line[0] == '-' {
		return "", "", false
	}
	rest := line[i+1:]
	if rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return "", "", false
	}
	return line[:i], strings.TrimSpace(rest), true
}

func isKeyByte(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
