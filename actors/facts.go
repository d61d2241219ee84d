package actors

import (
	"fmt"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/agent"

	"github.com/actorswarm/swarm/actors/report"
)

// mostFacts is how many other agents are told of one by one.
const mostFacts = 60

// facts tells an agent whose conversation was compacted what the runtime knows
// of its world at this moment: who is there, in which state, and what waits.
func (h *host) facts() string {
	var b strings.Builder
	b.WriteString("As of now, from the runtime and not from the summary:\n")
	fmt.Fprintf(&b, "You are %s (id %s, type %s).\n", agent.DisplayName(h.t.Spec()), h.t.ID(), h.t.Spec().Type)
	others, left := h.others()
	switch {
	case len(others) == 0:
		b.WriteString("You work with no other agents.\n")
	default:
		b.WriteString("Other agents:\n")
		for _, s := range others {
			b.WriteString(h.factOf(s))
		}
		if left > 0 {
			fmt.Fprintf(&b, "and %d more\n", left)
		}
	}
	fmt.Fprintf(&b, "Unread messages to you: %d; they reach you by themselves.", len(h.t.Unread()))
	if more := h.c.opts.Facts; more != nil {
		if text := more(Agent{h.t, h.t.Spec()}); text != "" {
			b.WriteString("\n" + text)
		}
	}
	return b.String()
}

// others returns the agents that concern this one: those that it started, who
// it works for, and its team; those that live before those that have ended, of
// these the newest first. left is how many are not among them for their number.
func (h *host) others() (all []Status, left int) {
	var ended []Status
	for _, s := range h.c.Status() {
		switch spec := s.Life.Spec; {
		case spec.ID == h.t.ID(), spec.Role == agent.User:
		case !s.Life.Closed && (h.concerns(spec) || h.sharesTeamWith(spec)):
			all = append(all, s)
		case s.Life.Closed && h.concerns(spec):
			ended = append([]Status{s}, ended...)
		}
	}
	all = append(all, ended...)
	if len(all) > mostFacts {
		all, left = all[:mostFacts], len(all)-mostFacts
	}
	return all, left
}

// sharesTeamWith reports whether another agent is of a team of this one, which the lead
// of the session is of all.
func (h *host) sharesTeamWith(s agent.Spec) bool {
	theirs := h.c.Teams(s)
	if len(theirs) == 0 {
		return false
	}
	me := h.t.Spec()
	if me.Role == agent.Lead || s.Role == agent.Lead {
		return true
	}
	return slices.ContainsFunc(append(h.c.Teams(me), h.c.Home(me)), func(mine agent.Membership) bool {
		return slices.ContainsFunc(theirs, func(m agent.Membership) bool { return m.Team == mine.Team })
	})
}

func (h *host) concerns(s agent.Spec) bool {
	return s.Parent == h.t.ID() || s.ID == h.t.Spec().Parent
}

func (h *host) factOf(s Status) string {
	spec := s.Life.Spec
	line := fmt.Sprintf("- %s (id %s, type %s", agent.DisplayName(spec), spec.ID, spec.Type)
	if spec.Parent == h.t.ID() {
		line += ", started by you"
		if spec.Description != "" {
			line += " for: " + report.Cut(spec.Description, 80)
		}
	}
	if teams := h.c.Teams(spec); len(teams) > 0 && teams[0].Team != h.c.Home(h.t.Spec()).Team {
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
