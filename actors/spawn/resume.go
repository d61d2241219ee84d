package spawn

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/defs"
)

// ResumeChangeError reports a call that resumes an agent and asks for changes. A resumed
// agent is unchanged: its mode, directory and limits were agreed when it was started.
type ResumeChangeError struct {
	Name   string
	Fields []string // of the call that ask for changes
}

func (e *ResumeChangeError) Error() string {
	return fmt.Sprintf("%s goes on as it was: leave out %s, or start a new agent", e.Name, strings.Join(e.Fields, ", "))
}

// CheckResume returns an error if a caller can resume no agent with a call.
func (c Call) CheckResume(caller agent.Spec) error {
	switch {
	case caller.Fork:
		return errForkStarts
	case strings.TrimSpace(c.Prompt) == "":
		return errNoPrompt
	}
	return nil
}

// Resume returns the role in which a call continues an agent that has ended.
// The error is an *ResumeChangeError if the call asks for another agent than it was.
func (p Policy) Resume(set *defs.Set, c Call, s agent.Spec) (agent.Role, error) {
	if d, ok := set.Lookup(c.Type); ok {
		c.Type = d.Name
	}
	if fields := c.changes(s, p.SessionTeam().Name); len(fields) > 0 {
		return "", &ResumeChangeError{Name: agent.DisplayName(s), Fields: fields}
	}
	return p.resumedRole(s, c), nil
}

// changes returns the fields of a call that ask for an agent unlike s.
func (c Call) changes(s agent.Spec, team string) []string {
	turns := ""
	if c.MaxTurns > 0 && c.MaxTurns != s.MaxTurns {
		turns = "another"
	}
	var fields []string
	for _, f := range [...]struct{ name, asked, is string }{
		{"subagent_type", c.Type, s.Type},
		{"model", c.Model, s.Model},
		{"effort", c.Effort, s.Effort},
		{"name", c.Name, s.Name},
		{"team_name", c.Team, team},
		{"mode", c.Mode, s.Mode},
		{"isolation", c.Isolation, s.Isolation},
		{"cwd", c.Dir, s.Dir},
		{"max_turns", turns, ""},
		{"on_parent_end", c.OnParentEnd, string(s.Link)},
	} {
		if f.asked != "" && !strings.EqualFold(f.asked, f.is) {
			fields = append(fields, f.name)
		}
	}
	return fields
}

// resumedRole is the role in which a call continues an agent.
func (p Policy) resumedRole(s agent.Spec, c Call) agent.Role {
	switch {
	case s.Role != agent.Foreground && s.Role != agent.Background:
		return s.Role
	case p.NoBackground:
		return agent.Foreground
	case c.Background != nil && *c.Background, c.Background == nil && (p.BackgroundByDefault || p.ForkMode):
		return agent.Background
	}
	return agent.Foreground
}

// CheckDir refuses a planned directory that is not there, or that a link leads
// out of where the parent works. It reads the file system, which Plan does not.
func (p Policy) CheckDir(dir, parent string) error {
	if dir == parent {
		return nil
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return fmt.Errorf("cwd cannot be used: %w", err)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return fmt.Errorf("cwd %s is not a directory", dir)
	}
	roots := append([]string{parent}, p.Dirs...)
	inside := slices.ContainsFunc(roots, func(root string) bool {
		if resolved, err := filepath.EvalSymlinks(root); err == nil {
			root = resolved
		}
		return within(real, root)
	})
	if !inside {
		return &OutsideError{Dir: dir, Dirs: roots}
	}
	return nil
}
