package team

import (
	"slices"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/team/board"
)

// Status is the status of a team.
type Status struct {
	Team
	Agents []actors.Status `json:"agents"` // the lead, then the members
	Tasks  []board.Task    `json:"tasks"`
	New    []string        `json:"new,omitempty"` // who came by this call
}

// StatusOf returns the status of a team from the states of its agents, which all contains.
func StatusOf(t Team, all []actors.Status) Status {
	status := Status{Team: t}
	for _, a := range all {
		switch id := a.Record.Spec.ID; {
		case id == t.Lead:
			status.Agents = slices.Insert(status.Agents, 0, a)
		case t.Has(id):
			status.Agents = append(status.Agents, a)
		}
	}
	return status
}
