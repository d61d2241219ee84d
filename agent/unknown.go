package agent

import (
	"fmt"
	"strings"

	"github.com/actorswarm/swarm/internal/spelling"
	"github.com/actorswarm/swarm/mailbox"
)

// UnknownError reports a name that no agent has.
type UnknownError struct {
	Name        string
	Suggestions []string // similar names, best first
	Known       []string // all names that can be written to, sorted
}

func (e *UnknownError) Error() string {
	text := fmt.Sprintf("there is no agent named %q", e.Name)
	if len(e.Suggestions) > 0 {
		text += "; did you mean " + strings.Join(e.Suggestions, " or ") + "?"
	}
	if len(e.Known) == 0 {
		return text + " (nobody can be written to)"
	}
	return text + " (known: " + strings.Join(e.Known, ", ") + ")"
}

// NoProcessError reports an agent that lives in the process of another one, which
// does not run.
type NoProcessError struct{ Name, Host string }

func (e *NoProcessError) Error() string {
	return fmt.Sprintf("%s lives in the process of %s, which does not run; a message to %s starts it", e.Name, e.Host, e.Host)
}

// Suggest returns at most three of the known names that name may have meant, best first:
// those within two edits of it, and those that contain it or that it contains. Case is
// ignored.
func Suggest(name string, known []string) []string { return spelling.Suggest(name, known) }

// NameTakenError reports that another agent has the name of a new one.
type NameTakenError struct {
	Name  string
	Owner mailbox.AgentID
}

func (e *NameTakenError) Error() string {
	return fmt.Sprintf("the name %q belongs to agent %s: choose another, or send it a message", e.Name, e.Owner)
}
