package permission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/actorswarm/swarm/internal/shell"
)

// effect is the kind of effect that a tool has.
type effect int

const (
	otherEffect effect = iota
	readEffect
	editEffect
	runEffect
	fetchEffect
)

func effectOf(tool string) effect {
	switch tool {
	case "Read", "Grep", "Glob", "LSP":
		return readEffect
	case "Edit", "Write", "NotebookEdit", "MultiEdit":
		return editEffect
	case "Bash", "Monitor", "PowerShell":
		return runEffect
	case "WebFetch":
		return fetchEffect
	}
	return otherEffect
}

// call is a parsed request with the policy that decides about it.
type call struct {
	location
	policy  *Policy
	request *Request
	tool    string
	effect  effect
	input   map[string]json.RawMessage // keys in lower case
	// targets are the absolute paths that a file tool reads or writes.
	targets []string
	shell   *shell.Script           // nil unless effect is runEffect
	trees   map[*shell.Command]tree // set by readTrees
}

func newCall(p *Policy, r *Request) (*call, error) {
	c := &call{location: newLocation(p, r), policy: p, request: r, tool: toolName(r.Tool), effect: effectOf(r.Tool)}
	var err error
	if c.input, err = readInput(r.Input); err != nil {
		return nil, err
	}
	switch c.effect {
	case readEffect, editEffect:
		return c, c.findTargets()
	case runEffect:
		c.shell = shell.Parse(c.text("command"), c.request.Cwd, p.Home)
		if c.tool == "PowerShell" {
			c.shell.Err = errors.New("PowerShell is not understood")
		}
	}
	return c, nil
}

// readInput parses the top level of a tool's input. A key that appears twice,
// without regard to case, is an error: the tool might use the other value.
func readInput(raw json.RawMessage) (map[string]json.RawMessage, error) {
	in := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(raw)) == 0 {
		return in, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	tok, err := dec.Token()
	if err != nil || tok != json.Delim('{') {
		return nil, errors.New("it is not a JSON object")
	}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("it is not JSON: %w", err)
		}
		name, _ := tok.(string)
		key := strings.ToLower(name)
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, fmt.Errorf("it is not JSON: %w", err)
		}
		if _, twice := in[key]; twice {
			return nil, fmt.Errorf("it gives %q twice", name)
		}
		in[key] = v
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	// More is also false before a closing bracket.
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more follows the JSON object")
	}
	return in, nil
}

// text returns a string field, or "" if there is none.
func (c *call) text(key string) string {
	var s string
	if raw, ok := c.input[key]; !ok || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// scalar returns a top-level field in the form that rules have it.
func (c *call) scalar(key string) (string, bool) {
	raw, ok := c.input[strings.ToLower(key)]
	if !ok {
		return "", false
	}
	if s := c.text(strings.ToLower(key)); s != "" {
		return s, true
	}
	s := string(bytes.TrimSpace(raw))
	return s, s != "" && s != "null" && s[0] != '{' && s[0] != '['
}

// findTargets sets targets. A search without a path is in the current directory.
func (c *call) findTargets() error {
	var paths []string
	for _, key := range []string{"file_path", "filepath", "notebook_path", "path"} {
		if s := c.text(key); s != "" {
			paths = append(paths, s)
		}
	}
	if c.tool == "Glob" {
		paths = append(paths, globRoots(c.text("path"), c.text("pattern"))...)
	}
	if len(paths) == 0 {
		if c.tool != "Glob" && c.tool != "Grep" {
			return errors.New("it names no file")
		}
		paths = []string{"."}
	}
	for _, s := range paths {
		if strings.ContainsRune(s, 0) {
			return errors.New("a path holds a NUL")
		}
		c.targets = append(c.targets, c.absolute(s, c.request.Cwd))
	}
	return nil
}

// globRoots returns the directories in which a glob pattern searches below path, besides
// path itself: what stands before the first wildcard may be a link.
func globRoots(path, pattern string) []string {
	fixed, wild := splitGlob(strings.TrimPrefix(pattern, "./"))
	var roots []string
	switch {
	case fixed == "":
	case filepath.IsAbs(fixed):
		roots = []string{fixed}
	case strings.HasPrefix(fixed, "~"):
		roots = []string{fixed, filepath.Join(path, "./"+fixed)}
	default:
		roots = []string{filepath.Join(path, fixed)}
	}
	if wild && strings.Contains(pattern, "..") {
		roots = append(roots, "/") // ".." after a wildcard can lead anywhere
	}
	return roots
}

// splitGlob returns the directory that a pattern names before its first wildcard, without
// escapes, and whether there is a wildcard. Glob splits patterns in the same way.
func splitGlob(pattern string) (fixed string, wild bool) {
	var text strings.Builder
	slash := -1 // in text
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*', '?', '[', '{':
			return text.String()[:slash+1], true
		case '\\':
			if i++; i == len(pattern) {
				return text.String()[:slash+1], false
			}
		case '/':
			slash = text.Len()
		}
		text.WriteByte(pattern[i])
	}
	return text.String()[:slash+1], false
}

// absolute makes a tool's path absolute and clean. Without a current directory, a
// relative path becomes one outside of all working directories.
func (l location) absolute(path, cwd string) string {
	return shell.Absolute(path, cwd, l.home)
}
