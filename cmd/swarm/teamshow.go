package main

import (
	"strings"
	"time"

	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
)

// teamRow is a team as status shows it.
type teamRow struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Lead    mailbox.AgentID `json:"lead"`
	Members []teamMember    `json:"members"` // the lead first
	Tasks   []board.Task    `json:"tasks"`
}

// teamMember is an agent with what a team says of it.
type teamMember struct {
	psAgent
	Mode string `json:"mode"`
	Dir  string `json:"cwd"`
}

func teamRowOf(t team.Status) teamRow {
	row := teamRow{ID: t.ID, Name: t.Name, Lead: t.Lead, Members: []teamMember{}, Tasks: append([]board.Task{}, t.Tasks...)}
	for _, s := range t.Agents {
		row.Members = append(row.Members, teamMember{psAgent: agentRow(s), Mode: s.Life.Spec.Mode, Dir: s.Life.Spec.Dir})
	}
	return row
}

func (a *app) showTeams(all []team.Status, asJSON bool) error {
	rows := make([]teamRow, len(all))
	for i, t := range all {
		rows[i] = teamRowOf(t)
	}
	if asJSON {
		return a.PrintJSON(rows)
	}
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(a.teamText(r))
	}
	return a.Print(b.String())
}

func (a *app) teamText(r teamRow) string {
	var b strings.Builder
	head := "team " + r.Name
	if r.ID != r.Name {
		head += " (" + r.ID + ")"
	}
	b.WriteString(term.Clean(head) + "\n")
	agents := make([]psAgent, len(r.Members))
	for i, m := range r.Members {
		agents[i] = m.psAgent
		if m.ID != r.Lead {
			agents[i].Parent = r.Lead // whoever started it, here it answers to the lead
		} else {
			agents[i].Parent = ""
		}
	}
	b.WriteString(indent(a.tree(agents, time.Now(), inset)))
	width := a.Screen().Width()
	for _, t := range r.Tasks {
		b.WriteString(term.Cut(term.Clean("  "+team.TaskLine(t)), width) + "\n")
	}
	return b.String()
}

func teamIDs(all []team.Team) []string {
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = t.ID
	}
	return names
}
