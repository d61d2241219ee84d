package status

import (
	"cmp"
	"slices"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/registry"
	"github.com/actorswarm/swarm/mailbox"
)

// Orphans returns the agents that still work for an agent when it is ended: those in the
// background. A process of its own ends with it, and so do all agents there.
func Orphans(all []actors.Status, id mailbox.AgentID) []actors.Orphan {
	var left []actors.Orphan
	apart := slices.ContainsFunc(all, func(s actors.Status) bool { return s.Record.Spec.ID == id && s.Record.Spec.Where != "" })
	for _, s := range all {
		switch l := s.Record; {
		case registry.WorksFor(l) != id, l.Closed:
		case apart:
			left = append(left, actors.Orphan{Name: agent.DisplayName(l.Spec), Link: agent.StopWith})
		case l.Spec.Role == agent.Background && l.Turns > l.Reported:
			left = append(left, actors.Orphan{Name: agent.DisplayName(l.Spec), Link: cmp.Or(l.Spec.Link, agent.Reparent)})
		}
	}
	return left
}
