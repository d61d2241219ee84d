package status

import (
	"fmt"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/report"
)

// mostFacts is the most agents that are listed one by one.
const mostFacts = 60

// Relations knows the teams of agents.
type Relations interface {
	Teams(s agent.Spec) []agent.Membership
	Home(s agent.Spec) agent.Membership
}

// Facts returns what an agent reads after a compaction: the other agents, their states,
// and how many messages wait.
func Facts(me agent.Spec, all []actors.Status, r Relations, unread int) string {
	v := viewer{me, r}
	var b strings.Builder
	b.WriteString("As of now, from the runtime and not from the summary:\n")
	fmt.Fprintf(&b, "You are %s (id %s, type %s).\n", agent.DisplayName(me), me.ID, me.Type)
	others, left := v.others(all)
	switch {
	case len(others) == 0:
		b.WriteString("You work with no other agents.\n")
	default:
		b.WriteString("Other agents:\n")
		for _, s := range others {
			b.WriteString(v.factOf(s))
		}
		if left > 0 {
			fmt.Fprintf(&b, "and %d more\n", left)
		}
	}
	fmt.Fprintf(&b, "Unread messages to you: %d; they reach you by themselves.", unread)
	return b.String()
}

// viewer is the agent that reads the text.
type viewer struct {
	me agent.Spec
	Relations
}

// others returns the agents that concern this one: those that it started, the one that
// it works for, and its team. Those that have ended come last, the newest first. left is
// the number of those beyond mostFacts.
func (v viewer) others(every []actors.Status) (all []actors.Status, left int) {
	var ended []actors.Status
	for _, s := range every {
		switch spec := s.Record.Spec; {
		case spec.ID == v.me.ID, spec.Role == agent.User:
		case !s.Record.Closed && (v.concerns(spec) || v.sharesTeamWith(spec)):
			all = append(all, s)
		case s.Record.Closed && v.concerns(spec):
			ended = append([]actors.Status{s}, ended...)
		}
	}
	all = append(all, ended...)
	if len(all) > mostFacts {
		all, left = all[:mostFacts], len(all)-mostFacts
	}
	return all, left
}

// sharesTeamWith reports whether another agent is in a team of this one. The lead of the
// session is in all.
func (v viewer) sharesTeamWith(s agent.Spec) bool {
	theirs := v.Teams(s)
	if len(theirs) == 0 {
		return false
	}
	me := v.me
	if me.Role == agent.Lead || s.Role == agent.Lead {
		return true
	}
	return slices.ContainsFunc(append(v.Teams(me), v.Home(me)), func(mine agent.Membership) bool {
		return slices.ContainsFunc(theirs, func(m agent.Membership) bool { return m.Team == mine.Team })
	})
}

func (v viewer) concerns(s agent.Spec) bool {
	return s.Parent == v.me.ID || s.ID == v.me.Parent
}

func (v viewer) factOf(s actors.Status) string {
	spec := s.Record.Spec
	line := fmt.Sprintf("- %s (id %s, type %s", agent.DisplayName(spec), spec.ID, spec.Type)
	if spec.Parent == v.me.ID {
		line += ", started by you"
		if spec.Description != "" {
			line += " for: " + report.Cut(spec.Description, 80)
		}
	}
	if teams := v.Teams(spec); len(teams) > 0 && teams[0].Team != v.Home(v.me).Team {
		line += ", team " + teams[0].Name
	}
	line += "): " + s.State.Name
	if s.State.Detail != "" {
		line += " (" + report.Cut(s.State.Detail, 80) + ")"
	}
	if s.Unread > 0 {
		line += fmt.Sprintf(", %d unread", s.Unread)
	}
	return line + "\n"
}
