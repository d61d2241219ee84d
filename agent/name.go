package agent

import (
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/mailbox"
)

// LeadID is the id of the agent that talks with the user.
const LeadID mailbox.AgentID = "lead"

// LeadName is the name under which others address the lead.
const LeadName = "team-lead"

// UserID is the address of the person a session belongs to. What comes from it
// is the user's own word; everything else is data from an agent.
const UserID mailbox.AgentID = "user"

// Describe returns what events say of an agent.
func Describe(s Spec) event.Agent {
	return event.Agent{ID: s.ID, Name: DisplayName(s), Type: s.Type, Color: s.Color, Parent: s.Parent, Call: s.Call}
}

// DisplayName is how people and other agents see an agent.
func DisplayName(s Spec) string {
	switch {
	case s.Role == Lead:
		return LeadName
	case s.Name != "":
		return s.Name
	}
	return string(s.ID)
}
