package session

import "github.com/actorswarm/swarm/defs"

// Welcome is the state of a running session for a process that joins it.
type Welcome struct {
	Info  Info        `json:"info"`
	PID   int         `json:"pid"` // of the process that runs the session
	Last  Exchange    `json:"last"`
	Types []AgentType `json:"types"` // that agents can be started with
}

// Exchange is a text of the user and the lead's answer. Answer is empty while there is
// none.
type Exchange struct{ Prompt, Answer string }

// AgentType describes an agent type to people.
type AgentType struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Color       string `json:"color,omitempty"`
}

// AgentTypes returns the types of agents that can be started with definitions.
func AgentTypes(set *defs.Set) []AgentType {
	var all []AgentType
	for _, d := range set.Active {
		all = append(all, AgentType{Name: d.Name, Description: d.Description, Color: d.Color})
	}
	return all
}
