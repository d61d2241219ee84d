package mcpconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/actorswarm/swarm/internal/mcpclient"
	"github.com/actorswarm/swarm/internal/statefile"
)

// Path returns the file that Add writes for a scope.
func (o Options) Path(scope string) (string, error) {
	switch scope {
	case Local, User:
		return filepath.Join(o.StateDir, stateFile), nil
	case Project:
		return filepath.Join(o.Sources.Cwd, ProjectFile), nil
	}
	return "", fmt.Errorf("the scope %q is not known; use local, project or user", scope)
}

// Add writes a server into the file of a scope and returns its path. A server of that name
// is replaced.
func Add(o Options, scope string, s mcpclient.Server) (path string, err error) {
	if err := s.Check(); err != nil {
		return "", fmt.Errorf("the MCP server %.60q cannot be added: %w", s.Name, err)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	return o.change(scope, func(servers *object) error { return servers.set(s.Name, raw) })
}

// NotFoundError reports a server that a file does not have.
type NotFoundError struct{ Name, Path string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("there is no MCP server %q in %s", e.Name, e.Path)
}

// Remove takes a server out of the file of a scope and returns its path.
func Remove(o Options, scope, name string) (path string, err error) {
	return o.change(scope, func(servers *object) error {
		if !servers.remove(name) {
			path, err := o.Path(scope)
			return errors.Join(err, &NotFoundError{name, path})
		}
		return nil
	})
}

// change changes the servers of a scope in its file.
func (o Options) change(scope string, change func(servers *object) error) (path string, err error) {
	if path, err = o.Path(scope); err != nil {
		return "", err
	}
	var all object
	raw, err := read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", err
	default:
		if err := json.Unmarshal(raw, &all); err != nil {
			return "", fmt.Errorf("%s is not valid, and nothing was changed: %w", path, err)
		}
	}
	if scope == Local {
		err = all.within("projects", func(projects *object) error {
			return projects.within(o.Sources.Cwd, func(project *object) error { return project.within(key, change) })
		})
	} else {
		err = all.within(key, change)
	}
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	raw, err = json.Marshal(all)
	if err = errors.Join(err, json.Indent(&text, raw, "", "  ")); err != nil {
		return "", err
	}
	text.WriteByte('\n')
	if err := statefile.MakeDirs(filepath.Dir(path), ""); err != nil {
		return "", err
	}
	return path, statefile.Write(path, text.Bytes())
}

// object is a JSON object of which the rest is kept.
type object map[string]json.RawMessage

func (o *object) set(name string, raw json.RawMessage) error {
	if *o == nil {
		*o = object{}
	}
	(*o)[name] = raw
	return nil
}

func (o *object) remove(name string) bool {
	_, found := (*o)[name]
	delete(*o, name)
	return found
}

// within changes the object at a name.
func (o *object) within(name string, change func(*object) error) error {
	var inner object
	if raw, ok := (*o)[name]; ok {
		if err := json.Unmarshal(raw, &inner); err != nil {
			return fmt.Errorf("%s is no object, and nothing was changed: %w", name, err)
		}
	}
	if err := change(&inner); err != nil {
		return err
	}
	raw, err := json.Marshal(inner)
	return errors.Join(err, o.set(name, raw))
}
