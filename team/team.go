package team

import (
	"fmt"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/mailbox"
)

// Team is a group of agents that work together under a lead. It is defined by the
// memberships in the records of its agents alone.
type Team struct {
	ID      string            `json:"id"`   // generated: no two teams have the same
	Name    string            `json:"name"` // for people and models; several teams may have it
	Lead    mailbox.AgentID   `json:"lead"`
	Members []mailbox.AgentID `json:"members"` // without the lead, oldest first
	Seeded  bool              `json:"seeded"`  // its first tasks are on the list
}

// Own returns the id, which is also the name, of the team that each session has.
func Own(session string) string { return "session-" + session[:min(len(session), 8)] }

// List is the name of the team's task list.
func (t Team) List() string { return t.ID }

// Has reports whether an agent is in the team or leads it.
func (t Team) Has(id mailbox.AgentID) bool { return t.Lead == id || slices.Contains(t.Members, id) }

// UnknownTeamError reports a team that does not exist.
type UnknownTeamError struct {
	Name  string
	Known []string
}

func (e *UnknownTeamError) Error() string {
	text := fmt.Sprintf("there is no team named %q", e.Name)
	if near := agent.Suggest(e.Name, e.Known); len(near) > 0 {
		return text + "; did you mean " + strings.Join(near, " or ") + "?"
	}
	if len(e.Known) == 0 {
		return text + " (there are none)"
	}
	return text + " (known: " + strings.Join(e.Known, ", ") + ")"
}
