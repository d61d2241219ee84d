package view

import (
	"strings"
	"time"

	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
)

// TeamRow is a team in the output of status.
type TeamRow struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Lead    mailbox.AgentID `json:"lead"`
	Members []MemberRow     `json:"members"` // the lead first
	Tasks   []board.Task    `json:"tasks"`
}

// MemberRow is an agent with its membership of a team.
type MemberRow struct {
	AgentRow
	Mode string `json:"mode"`
	Dir  string `json:"cwd"`
}

// NewTeamRow returns the row of a team.
func NewTeamRow(t team.Status) TeamRow {
	row := TeamRow{ID: t.ID, Name: t.Name, Lead: t.Lead, Members: []MemberRow{}, Tasks: append([]board.Task{}, t.Tasks...)}
	for _, s := range t.Agents {
		row.Members = append(row.Members, MemberRow{AgentRow: newAgentRow(s), Mode: s.Record.Spec.Mode, Dir: s.Record.Spec.Dir})
	}
	return row
}

// Team formats a team: its agents as a tree below their lead, then its tasks.
func Team(s cli.Screen, r TeamRow, now time.Time) string {
	var b strings.Builder
	head := "team " + r.Name
	if r.ID != r.Name {
		head += " (" + r.ID + ")"
	}
	b.WriteString(term.Clean(head) + "\n")
	agents := make([]AgentRow, len(r.Members))
	for i, m := range r.Members {
		agents[i] = m.AgentRow
		if m.ID != r.Lead {
			agents[i].Parent = r.Lead // in a team, agents are shown below the lead
		} else {
			agents[i].Parent = ""
		}
	}
	b.WriteString(Indent(Tree(s, agents, now, inset)))
	width := s.Width()
	for _, t := range r.Tasks {
		b.WriteString(term.Cut(term.Clean("  "+roster.TaskLine(t)), width) + "\n")
	}
	return b.String()
}
