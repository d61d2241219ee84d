package node

import (
	"fmt"
	"strings"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/team/board"
)

// mostTasks is how many open tasks an agent is told of after a compaction.
const mostTasks = 50

// facts adds the open tasks to what an agent is told after a compaction, if its
// session uses the list.
func (n *Node) facts(a actors.Agent) string {
	var all []string
	for i, m := range n.Roster.Of(a.Transcript.Spec()) {
		of := "the shared list"
		if i > 0 {
			of = "the list of team " + m.Name
		}
		if text := n.openTasks(m.Team, of); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n")
}

func (n *Node) openTasks(team, of string) string {
	list, ok := n.Boards.Open(n.ListOf(team))
	if !ok {
		return ""
	}
	var lines []string
	for _, t := range list.List() {
		if t.Status == board.Completed {
			continue
		}
		line := fmt.Sprintf("- %s %s: %s", t.ID, t.Status, t.Subject)
		if t.Owner != "" {
			line += " (" + t.Owner + ")"
		}
		lines = append(lines, line)
	}
	switch n := len(lines); {
	case n == 0:
		return "No task of " + of + " is open."
	case n > mostTasks:
		lines = append(lines[:mostTasks], fmt.Sprintf("and %d more: TaskList", n-mostTasks))
	}
	return "Open tasks of " + of + ":\n" + strings.Join(lines, "\n")
}

// redefined warns of agents whose definition is no longer what they run with, and of
// files that can no longer be read.
func (n *Node) redefined(before, after *defs.Set) {
	for _, c := range defs.Diff(before, after) {
		if c.Kind == "added" {
			continue
		}
		for _, a := range n.Agents.Status() {
			if spec := a.Life.Spec; spec.Type == c.Name && !a.Life.Closed {
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
