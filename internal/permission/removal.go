package permission

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// criticalRemoval returns why a removal in the command is never approved
// automatically, or "".
func (c *call) criticalRemoval() string {
	for i := range c.shell.cmds {
		cmd := &c.shell.cmds[i]
		for _, w := range cmd.removed() {
			if c.critical(cmd, w) {
				return fmt.Sprintf("the command may remove %s", w.bareText())
			}
		}
	}
	return ""
}

// removed returns the operands a command removes.
func (c *command) removed() []word {
	if len(c.words) == 0 {
		return nil
	}
	switch path.Base(certain(c.words[0].text)) {
	case "rm", "rmdir", "unlink", "shred":
		return operandsOf(c.words)
	case "find":
		if slices.ContainsFunc(c.words, func(w word) bool { return w.text == "-delete" }) {
			return findRoots(c.words)
		}
	}
	return nil
}

// findRoots returns the directories find starts from.
func findRoots(words []word) []word {
	var out []word
	for _, w := range words[1:] {
		if strings.HasPrefix(w.text, "-") || w.text == "(" || w.text == "!" {
			if len(out) > 0 || !contains([]string{"-H", "-L", "-P"}, w.text) {
				break
			}
			continue
		}
		out = append(out, w)
	}
	if len(out) == 0 {
		return []word{literal(".")}
	}
	return out
}

// critical reports a word that may name what nobody wants removed.
func (c *call) critical(cmd *command, w word) bool {
	if unguarded(w.text) {
		return true
	}
	if strings.ContainsAny(w.text, "\x00\x01") {
		return false
	}
	for _, t := range braces(w) {
		if c.criticalPath(cmd, t, w.glob) {
			return true
		}
	}
	return false
}

// unguarded reports an expansion that, if it is empty, leaves "/" or a wildcard.
func unguarded(t string) bool {
	return strings.Contains(t, "\x00/") || strings.Contains(t, "\x00*") || strings.Contains(t, "\x00?") || strings.Contains(t, "\x00\x00/")
}

// braces returns the words a brace expression may become, roughly: enough to
// see a critical path among them.
func braces(w word) []string {
	open, end := strings.IndexByte(w.text, '{'), strings.LastIndexByte(w.text, '}')
	if !w.brace || open < 0 || end < open {
		return []string{w.text}
	}
	var out []string
	for alt := range strings.SplitSeq(w.text[open+1:end], ",") {
		out = append(out, w.text[:open]+alt+w.text[end+1:])
	}
	return out
}

func (c *call) criticalPath(cmd *command, text string, isGlob bool) bool {
	if !strings.HasPrefix(text, "/") && len(cmd.cwds) == 0 {
		// Where it runs is not known: only a plain name below is harmless.
		clean := path.Clean(text)
		return clean == "." || strings.HasPrefix(clean, "..") || isGlob && strings.IndexAny(clean, "*?[") <= strings.LastIndexByte(clean, '/')+1 && !strings.Contains(clean, "/")
	}
	for _, p := range c.paths(cmd, word{text: text, lit: true}) {
		for _, f := range c.forms(p) {
			if c.vital(f) || isGlob && c.globsVital(f) {
				return true
			}
		}
	}
	return false
}

// vital names the root and its children, the home directory, and the working
// directories and everything above them.
func (c *call) vital(p string) bool {
	if p == "/" || filepath.Dir(p) == "/" || c.p.Home != "" && c.within(filepath.Clean(c.p.Home), p) {
		return true
	}
	return c.above(p)
}

// above reports a working or current directory, or one above it.
func (c *call) above(p string) bool {
	dirs := c.roots()
	if strings.HasPrefix(c.r.Cwd, "/") {
		dirs = append(dirs, c.forms(filepath.Clean(c.r.Cwd))...)
	}
	return slices.ContainsFunc(dirs, func(d string) bool { return c.within(d, p) })
}

// globsVital reports a wildcard directly below a vital directory.
func (c *call) globsVital(p string) bool {
	for strings.ContainsAny(filepath.Dir(p), "*?[") {
		p = filepath.Dir(p)
	}
	return strings.ContainsAny(filepath.Base(p), "*?[") && c.vital(filepath.Dir(p)) && broad(filepath.Base(p))
}

// broad reports a pattern that leaves little out: "*", ".*", "?*", not "*.o".
func broad(pattern string) bool {
	return strings.Trim(pattern, "*?.[]!^") == ""
}
