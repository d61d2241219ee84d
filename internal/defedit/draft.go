package defedit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/defs"
)

// Draft is a definition to be written. Name and Description are required.
type Draft struct {
	Name, Description string
	// Prompt is the system prompt; "" leaves the default one.
	Prompt string
	// Tools are separated by commas; "" or "*" means all and "[]" none.
	Tools string
	// Model is an alias, a full id or "inherit"; "" leaves the field out.
	Model string
	// Color is one of defs.Colors, or "".
	Color string
}

// Render returns the text of the file. The error is a *DraftError with the first
// problem that Parse finds.
func (d Draft) Render() ([]byte, error) {
	var entries []entry
	for _, f := range []struct{ name, value string }{
		{"name", d.Name},
		{"description", d.Description},
		{"tools", d.Tools},
		{"model", d.Model},
		{"color", d.Color},
	} {
		value := strings.TrimSpace(f.value)
		if value == "" || f.name == "tools" && value == "*" {
			continue
		}
		e := entry{Field: defs.Field{Key: f.name, Name: f.name, Text: value, Single: true}}
		if f.name == "tools" && value == "[]" {
			e.Field = defs.Field{Key: f.name, Name: f.name, Value: []byte(value)}
		}
		if _, _, err := e.text(f.name); err != nil {
			return nil, &DraftError{fmt.Sprintf("the %s %q cannot be written; use simpler text", f.name, value)}
		}
		entries = append(entries, e)
	}
	body := strings.TrimSpace(d.Prompt)
	if body != "" {
		body = "\n" + body + "\n"
	}
	src := file{body: []byte(body), eol: "\n"}.join(canonicalLines(entries, defs.User))
	return src, d.check(src)
}

// check parses the file and rejects one that is not read as it was meant.
func (d Draft) check(src []byte) error {
	got, problems, err := defs.Parse("the new agent", src, defs.User)
	var p defs.Problem
	switch {
	case errors.As(err, &p):
		return &DraftError{p.Text}
	case len(problems) > 0:
		return &DraftError{problems[0].Text}
	case got.Name != strings.TrimSpace(d.Name):
		return &DraftError{fmt.Sprintf("the name %q cannot be written to a file; choose another", d.Name)}
	}
	return nil
}

// DraftError reports what is wrong with a draft.
type DraftError struct{ Reason string }

func (e *DraftError) Error() string { return e.Reason }

// CheckName returns why a name cannot be that of a new agent.
func CheckName(name string) error {
	if strings.TrimSpace(name) == "" {
		return &DraftError{"an agent needs a name"}
	}
	_, err := Draft{Name: name, Description: "x"}.Render()
	return err
}

// CheckModel returns why a model cannot be that of a new agent.
func CheckModel(model string) error {
	_, err := Draft{Name: "x", Description: "x", Model: model}.Render()
	return err
}

// UnknownTools returns the entries of a list of tools that are not in known. It accepts
// all tools of MCP servers, which are not known before their server runs.
func UnknownTools(list string, known []string) []string {
	var unknown []string
	for _, entry := range defs.SplitTools(strings.Trim(list, "[]")) {
		name := defs.ToolName(entry)
		if name != "*" && !strings.HasPrefix(name, "mcp__") && !slices.Contains(known, name) {
			unknown = append(unknown, entry)
		}
	}
	return unknown
}

// FileName returns the name of the file for an agent. It replaces what some systems do
// not allow in a file name by a hyphen.
func FileName(agent string) string {
	name := strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7f || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '-'
		}
		return r
	}, agent)
	if name = strings.Trim(name, ".-"); name == "" {
		name = "agent"
	}
	for len(name) > 200 {
		name = strings.ToValidUTF8(name[:200], "")
	}
	return name + ".md"
}

// ExistsError reports that Write was not allowed to replace a file.
type ExistsError struct{ Path string }

func (e *ExistsError) Error() string { return e.Path + " exists already" }

// Write writes a definition to disk atomically and makes its directory. It replaces an
// existing file only with force, and then keeps its permissions; otherwise the error is
// an *ExistsError.
func Write(path string, src []byte, force bool) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return writeError(path, err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // replace the target, not the link
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	temp, err := writeTemp(filepath.Dir(path), src, mode)
	if err != nil {
		return writeError(path, err)
	}
	if !force {
		if err = linkExclusive(temp, path); err != nil {
			err = errors.Join(err, os.Remove(temp))
		}
	} else {
		err = os.Rename(temp, path)
	}
	if errors.Is(err, fs.ErrExist) {
		return &ExistsError{path}
	}
	return writeError(path, err)
}

// linkExclusive gives temp its name unless there is a file of that name.
func linkExclusive(temp, path string) error {
	// Unlike os.Rename, os.Link fails if the file exists.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Close(), os.Rename(temp, path)); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func writeTemp(dir string, src []byte, mode fs.FileMode) (path string, err error) {
	f, err := os.CreateTemp(dir, ".agent-*.tmp")
	if err != nil {
		return "", err
	}
	_, err = f.Write(src)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

func writeError(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s cannot be written; make its folder writable or choose another location: %w", path, cause(err))
}
