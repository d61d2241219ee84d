package permission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/actorswarm/swarm/internal/shell"
)

// class is what kind of effect a tool has.
type class int

const (
	other class = iota
	reads
	edits
	runs
	fetches
)

func classOf(tool string) class {
	switch tool {
	case "Read", "Grep", "Glob", "LSP":
		return reads
	case "Edit", "Write", "NotebookEdit", "MultiEdit":
		return edits
	case "Bash", "Monitor", "PowerShell":
		return runs
	case "WebFetch":
		return fetches
	}
	return other
}

// call is a request taken apart.
type call struct {
	place
	p     *Policy
	r     *Request
	tool  string
	class class
	input map[string]json.RawMessage // keys in lower case
	// targets are the absolute paths a file tool is about.
	targets []string
	shell   *shell.Script // only of class runs
}

func newCall(p *Policy, r *Request) (*call, error) {
	c := &call{place: newPlace(p, r), p: p, r: r, tool: toolName(r.Tool), class: classOf(r.Tool)}
	var err error
	if c.input, err = readInput(r.Input); err != nil {
		return nil, err
	}
	switch c.class {
	case reads, edits:
		return c, c.findTargets()
	case runs:
		c.shell = shell.Parse(c.text("command"), c.r.Cwd, p.Home)
		if c.tool == "PowerShell" {
			c.shell.Err = errors.New("PowerShell is not understood")
		}
	}
	return c, nil
}

// readInput reads the top level of a tool's input. A key that appears twice, in
// any case, is an error: the tool might read the one that was not judged.
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
	// More is false before a closing bracket, which would go unseen.
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more follows the JSON object")
	}
	return in, nil
}

// text returns a field that is a string, else "".
func (c *call) text(key string) string {
	var s string
	if raw, ok := c.input[key]; !ok || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// scalar returns a top-level field as people write it in a rule.
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

// findTargets lists the paths of a file tool. A search without a path is about
// the current directory.
func (c *call) findTargets() error {
	var paths []string
	for _, key := range []string{"file_path", "filepath", "notebook_path", "path"} {
		if s := c.text(key); s != "" {
			paths = append(paths, s)
		}
	}
	if c.tool == "Glob" {
		if base := fixedPrefix(c.text("pattern")); base != "" {
			paths = append(paths, base)
		}
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
		c.targets = append(c.targets, c.absolute(s, c.r.Cwd))
	}
	return nil
}

// fixedPrefix returns the directory a glob pattern leads to if that is not
// simply below the current one.
func fixedPrefix(pattern string) string {
	if !strings.HasPrefix(pattern, "/") && !strings.HasPrefix(pattern, "~") && !strings.Contains(pattern, "..") {
		return ""
	}
	if strings.Contains(pattern, "..") && strings.ContainsAny(pattern, "*?[{") {
		return "/" // where ".." after a wildcard leads cannot be said
	}
	if i := strings.IndexAny(pattern, "*?[{"); i >= 0 {
		return pattern[:strings.LastIndexByte(pattern[:i], '/')+1]
	}
	return pattern
}

// absolute cleans a path given by a tool. Without a current directory a
// relative path becomes one outside every working directory.
func (l place) absolute(path, cwd string) string {
	return shell.Absolute(path, cwd, l.home)
}
