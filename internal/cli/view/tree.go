package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

// AgentRow is an agent in the output of ps.
type AgentRow struct {
	ID       mailbox.AgentID `json:"id"`
	Name     string          `json:"name"`
	Type     string          `json:"type"`
	Role     string          `json:"role"`
	Color    string          `json:"color,omitempty"`
	Parent   mailbox.AgentID `json:"parent,omitempty"`
	Model    string          `json:"model"`
	State    string          `json:"state"`
	Detail   string          `json:"detail,omitempty"`
	Since    time.Time       `json:"since"`
	Progress time.Time       `json:"progress"` // when its work last moved on
	Born     time.Time       `json:"born"`
	Running  bool            `json:"running"`
	Closed   bool            `json:"-"` // it only runs again if it gets a message
	Unread   int             `json:"unread"`
	Turns    int             `json:"turns"`
	Steps    int             `json:"steps"`
	ToolUses int             `json:"tool_uses"`
	Usage    model.Usage     `json:"usage"`
	Cost     swarm.Cost      `json:"cost_usd"` // null: unknown
	// SubtreeTokens and SubtreeCost are of the agent and all below it.
	SubtreeTokens int64      `json:"subtree_tokens"`
	SubtreeCost   swarm.Cost `json:"subtree_cost_usd"`
}

func newAgentRow(s actors.Status) AgentRow {
	l, spec := s.Record, s.Record.Spec
	return AgentRow{
		ID: spec.ID, Name: AgentLabel(agent.Describe(spec)), Type: spec.Type, Role: string(spec.Role), Color: spec.Color,
		Parent: spec.Parent, Model: spec.Model, State: s.State.Name, Detail: s.State.Detail, Since: s.State.Since,
		Progress: s.State.Progress,
		Born:     spec.Born, Running: s.Running, Closed: l.Closed, Unread: s.Unread, Turns: l.Turns, Steps: l.Steps, ToolUses: l.ToolUses,
		Usage: l.Usage, Cost: s.Cost, SubtreeTokens: s.Subtree.Usage.Total(), SubtreeCost: s.Subtree.Cost,
	}
}

// Tree formats agents below those that started them, oldest first. inset is the number
// of columns by which the caller indents the lines.
func Tree(s cli.Screen, all []AgentRow, now time.Time, inset int) string {
	if len(all) == 0 {
		return "no agent has been started yet\n"
	}
	t := treeWriter{Screen: s, now: now, inset: inset, column: 20, children: map[mailbox.AgentID][]AgentRow{}}
	known := map[mailbox.AgentID]bool{}
	for _, p := range all {
		known[p.ID] = true
	}
	var roots []AgentRow
	for _, p := range all {
		if known[p.Parent] && p.Parent != p.ID {
			t.children[p.Parent] = append(t.children[p.Parent], p)
		} else {
			roots = append(roots, p)
		}
	}
	for _, p := range roots {
		t.measure(p, 0)
	}
	for _, p := range roots {
		t.write(p, "", "")
	}
	return t.b.String() + priceNote(all)
}

// priceNote explains the sign of an unknown cost, if a row shows it.
func priceNote(all []AgentRow) string {
	for _, p := range all {
		if (p.Cost.Unknown || p.SubtreeCost.Unknown) && p.SubtreeTokens > 0 {
			return "($? is an unknown price; ~/.swarm/models.yaml can give it)\n"
		}
	}
	return ""
}

type treeWriter struct {
	cli.Screen
	b        strings.Builder
	now      time.Time
	inset    int
	column   int // that names are filled up to
	children map[mailbox.AgentID][]AgentRow
}

// maxNameWidth is the maximal width of the column of names.
const maxNameWidth = 32

// measure widens the column for the names of p, after a branch of so many columns, and
// of those below it.
func (t *treeWriter) measure(p AgentRow, branch int) {
	if n := branch + term.Width(term.Clean(p.Name)); n <= maxNameWidth {
		t.column = max(t.column, n)
	}
	for _, kid := range t.children[p.ID] {
		t.measure(kid, branch+2)
	}
}

// write writes p after branch, and the agents below it after stem.
func (t *treeWriter) write(p AgentRow, branch, stem string) {
	name := term.Clean(p.Name)
	pad := strings.Repeat(" ", max(0, t.column-term.Width(branch+name))+2)
	room := max(10, t.Width()-t.inset-term.Width(branch+name+pad))
	fmt.Fprintf(&t.b, "%s%s%s%s\n", branch, t.Paint(name, p.Color), pad, term.Cut(term.Clean(t.about(p)), room))
	kids := t.children[p.ID]
	for i, kid := range kids {
		if i == len(kids)-1 {
			t.write(kid, stem+"└ ", stem+"  ")
		} else {
			t.write(kid, stem+"├ ", stem+"│ ")
		}
	}
}

// StateText describes the state of an agent in words.
func (p AgentRow) StateText() string {
	state := strings.ReplaceAll(p.State, "_", " ")
	if p.State == "waiting" {
		state += " for"
	}
	if p.Detail != "" && p.Detail != p.State {
		state += " " + strings.ReplaceAll(p.Detail, agent.LeadName, "lead")
	}
	return state
}

func (t *treeWriter) about(p AgentRow) string {
	parts := []string{p.StateText() + " " + duration(t.now.Sub(p.Since)), Plural(p.Steps, "step"), p.usageText()}
	if age := t.now.Sub(p.Progress); p.isWorking() && age >= progressAge {
		parts = append(parts, "no progress for "+duration(age))
	}
	if p.Unread > 0 {
		parts = append(parts, fmt.Sprintf("%d unread", p.Unread))
	}
	if p.Type != p.Name && p.Type != "lead" {
		parts = append(parts, p.Type)
	}
	return strings.Join(parts, " · ")
}

// usageText formats the tokens and the cost of the agent and, after a slash, those of
// it and all below it.
func (p AgentRow) usageText() string {
	own, cost := tokens(p.Usage), p.Cost.String()
	if p.SubtreeTokens == 0 {
		return own + " tokens"
	}
	if p.SubtreeTokens == p.Usage.Total() {
		return own + " tokens " + cost
	}
	if cost != p.SubtreeCost.String() {
		cost += "/" + p.SubtreeCost.String()
	}
	return own + "/" + number(p.SubtreeTokens) + " tokens " + cost
}

// progressAge is the age from which an agent's last progress is shown.
const progressAge = time.Minute

// isWorking reports whether the agent is expected to make progress by itself.
func (p AgentRow) isWorking() bool {
	switch p.State {
	case "starting", "thinking", "in_tool", "compacting":
		return p.Running
	case "waiting":
		return p.Running && p.Detail == "child"
	}
	return false
}

// AgentRows returns the rows of all agents. The user is not one.
func AgentRows(all []actors.Status) []AgentRow {
	var rows []AgentRow
	for _, s := range all {
		if s.Record.Spec.Role != "user" {
			rows = append(rows, newAgentRow(s))
		}
	}
	return rows
}

// EffortText describes what an agent has used.
func (p AgentRow) EffortText() string {
	parts := []string{Plural(p.Steps, "step"), tokens(p.Usage) + " tokens"}
	if p.Role == "background" {
		parts = append(parts, p.Role)
	}
	return strings.Join(parts, " · ")
}
