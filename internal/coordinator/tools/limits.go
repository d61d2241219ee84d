package tools

import (
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/permission"
)

// Limits returns the limits of an agent's tools as rules.
func Limits(s agent.Spec) [][]permission.Rule {
	var all [][]permission.Rule
	for _, l := range s.Only {
		all = append(all, permission.ParseLimits(l.Tools, l.From))
	}
	return all
}
