package agent

import (
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/mailbox"
)

// LeadID is the id of the agent that talks with the user.
const LeadID mailbox.AgentID = "lead"

// LeadName is the name under which others address the lead.
const LeadName = "team-lead"

// UserID is the address of the user of a session. Messages from it are the user's own
// words; all others are data from agents.
const UserID mailbox.AgentID = "user"

// Describe returns the agent of events.
func Describe(s Spec) event.Agent {
	return event.Agent{ID: s.ID, Name: DisplayName(s), Type: s.Type, Color: s.Color, Parent: s.Parent, Call: s.Call}
}

// DisplayName returns the name of an agent for people and other agents.
func DisplayName(s Spec) string {
	switch {
	case s.Role == Lead:
		return LeadName
	case s.Name != "":
		return s.Name
	}
	return string(s.ID)
}
