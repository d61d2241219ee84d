package defedit

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/actorswarm/swarm/defs"
)

// NotEditableError reports why a definition cannot be edited or removed.
type NotEditableError struct {
	Agent  string
	Source defs.Source
	Path   string
}

func (e *NotEditableError) Error() string {
	switch e.Source {
	case defs.BuiltIn:
		return fmt.Sprintf("%s is built into swarm and cannot be changed; an agent of the same name in .claude/agents takes its place", e.Agent)
	case defs.Plugin:
		return fmt.Sprintf("%s belongs to a plugin (%s), which an update would write again; change the plugin, or define an agent of the same name", e.Agent, e.Path)
	case defs.Managed:
		return fmt.Sprintf("%s is set by your organisation (%s); ask those who manage it", e.Agent, e.Path)
	case defs.Flag:
		return fmt.Sprintf("%s was given with --agents (%s); change it there", e.Agent, e.Path)
	}
	return fmt.Sprintf("%s stands in %s among other settings; change it there", e.Agent, e.Path)
}

// Editable returns nil if a definition is a file of its own that belongs to the user or
// the project, and a *NotEditableError otherwise.
func Editable(d defs.Definition) error {
	ours := d.Source == defs.User || d.Source == defs.Project
	if ours && strings.EqualFold(filepath.Ext(d.Path), ".md") {
		return nil
	}
	return &NotEditableError{Agent: d.Name, Source: d.Source, Path: d.Path}
}
