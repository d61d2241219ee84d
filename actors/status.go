package actors

import (
	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/model"
)

// Orphan is an agent that works for one that ends.
type Orphan struct {
	Name string
	Link agent.Link // what the end means for it
}

// String describes in words what happens to the agent.
func (o Orphan) String() string {
	switch o.Link {
	case agent.StopWith:
		return o.Name + " is stopped with it"
	case agent.Continue:
		return o.Name + " goes on and reports to it all the same"
	}
	return o.Name + " goes on and reports to the nearest above"
}

// Status is the status of an agent at one moment.
type Status struct {
	Record  agent.Record `json:"Life"`
	State   state.State
	Running bool
	Unread  int
	Cost    budget.Cost // of the agent's own requests
	// Subtree is the use of the agent and of all agents below it.
	Subtree Use
}

// Use is the use of several agents together.
type Use struct {
	Usage model.Usage
	Cost  budget.Cost
}
