package status

import (
	"cmp"
	"slices"

	"github.com/actorswarm/swarm/actors/internal/registry"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/mailbox"
)

// Orphan is an agent that is at work for one that is to end.
type Orphan struct {
	Name string
	Link agent.Link // what becomes of it
}

// Orphans returns whom the end of an agent leaves behind: those at work in the
// background for it, if it is ended before they are. A process of its own ends with it,
// and so do all that it has started there.
func Orphans(all []Status, id mailbox.AgentID) []Orphan {
	var left []Orphan
	apart := slices.ContainsFunc(all, func(s Status) bool { return s.Life.Spec.ID == id && s.Life.Spec.Where != "" })
	for _, s := range all {
		switch l := s.Life; {
		case registry.WorksFor(l) != id, l.Closed:
		case apart:
			left = append(left, Orphan{agent.DisplayName(l.Spec), agent.StopWith})
		case l.Spec.Role == agent.Background && l.Turns > l.Settled:
			left = append(left, Orphan{agent.DisplayName(l.Spec), cmp.Or(l.Spec.Link, agent.Reparent)})
		}
	}
	return left
}

// String says what becomes of the agent.
func (o Orphan) String() string {
	switch o.Link {
	case agent.StopWith:
		return o.Name + " is stopped with it"
	case agent.Continue:
		return o.Name + " goes on and reports to it all the same"
	}
	return o.Name + " goes on and reports to the nearest above"
}
