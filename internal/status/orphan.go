package status

import (
	"cmp"
	"slices"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/registry"
	"github.com/actorswarm/swarm/mailbox"
)

// Orphans returns whom the end of an agent leaves behind: those at work in the
// background for it, if it is ended before they are. A process of its own ends with it,
// and so do all that it has started there.
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
