package node

import (
	"fmt"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/event"
)

// warnRedefined warns of agents whose definition is no longer what they run with, and of
// files that can no longer be read.
func (n *Node) warnRedefined(before, after *defs.Set) {
	for _, c := range defs.Diff(before, after) {
		if c.Kind == "added" {
			continue
		}
		for _, a := range n.Agents.Status() {
			if spec := a.Record.Spec; spec.Type == c.Name && !a.Record.Closed {
				n.Events.Publish(agent.Describe(spec), event.Warning{Text: fmt.Sprintf(
					"the definition of %s was %s in %s; %s goes on with the one it was started with", c.Name, c.Kind, c.Path, agent.DisplayName(spec))})
			}
		}
	}
	known := map[string]bool{}
	for _, p := range before.Failed() {
		known[p.String()] = true
	}
	for _, p := range after.Failed() {
		if !known[p.String()] {
			n.Warn(p.String())
		}
	}
}

// Warn publishes a warning in the name of the lead.
func (n *Node) Warn(text string) {
	n.Events.Publish(event.Agent{ID: agent.LeadID, Name: agent.LeadName}, event.Warning{Text: text})
}
