package agent

import (
	"strings"
	"time"

	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/mailbox"
)

// Spec describes an agent; it does not change after the agent's start.
type Spec struct {
	ID          mailbox.AgentID `json:"id"`
	Name        string          `json:"name"`                  // under which others address it
	Type        string          `json:"type"`                  // agent type
	Description string          `json:"description,omitempty"` // of the task, for people
	Color       string          `json:"color,omitempty"`
	Parent      mailbox.AgentID `json:"parent,omitempty"`
	Call        string          `json:"call,omitempty"`   // the parent's tool call that started it
	Answer      int             `json:"answer,omitempty"` // number of the parent's answer with that call, from 1
	Depth       int             `json:"depth"`            // 0 = lead
	Role        Role            `json:"role"`
	Fork        bool            `json:"fork,omitempty"`      // began with its parent's conversation
	Isolation   string          `json:"isolation,omitempty"` // worktree: Dir belongs to this agent alone
	OneShot     bool            `json:"one_shot,omitempty"`  // answers once and cannot be woken again
	Model       string          `json:"model"`
	Mode        string          `json:"mode"` // permission mode
	MaxTurns    int             `json:"max_turns,omitempty"`
	Effort      string          `json:"effort,omitempty"`
	Dir         string          `json:"dir"`             // working directory
	Tools       []string        `json:"tools"`           // names, resolved
	Only        []ToolLimit     `json:"only,omitempty"`  // each of which limits the use of some of the tools
	Link        Link            `json:"link,omitempty"`  // of a child; empty is Reparent
	Budget      budget.Limits   `json:"budget,omitzero"` // of the agent and all below it
	// Teams are the teams that the agent is in or leads, the one it works in first.
	// Nil means the default of its role: leads and teammates are in the session's team.
	Teams   []Membership `json:"teams,omitzero"`
	Restart Restart      `json:"restart,omitzero"`
	Born    time.Time    `json:"born"`
	// Where is the Place of the process that hosts the agent, or "" for this one. The
	// transcript in that process is the truth; the one here is a replica, which follows
	// its reports.
	Where Place `json:"where,omitempty"`
	// PlanRequired agents change nothing before their plan is approved.
	PlanRequired bool `json:"plan_required,omitempty"`
}

// ToolLimit limits what an agent does with the tools that it names, such as
// "Bash(git diff:*)".
type ToolLimit struct {
	From  string   `json:"from"` // the definition
	Tools []string `json:"tools"`
}

// Membership is the membership of an agent in a team. The memberships of all agents
// define the teams.
type Membership struct {
	Team   string          `json:"team"`             // generated; no two teams have the same
	Name   string          `json:"name"`             // for people and models
	Lead   mailbox.AgentID `json:"lead"`             // the lead of the team
	Seeded bool            `json:"seeded,omitempty"` // of the lead: the first tasks are on the board
}

// Restart is how often an agent begins a new turn after one that failed. The zero value
// means no.
type Restart struct {
	Max    int           `json:"max,omitempty"`    // new turns within the time
	Within time.Duration `json:"within,omitempty"` // in nanoseconds; 0 is an hour
}

// Place is where the host of an agent runs, if not in this process.
type Place string

// The places.
const (
	InTmux    Place = "tmux"    // in a process of its own in a tmux pane
	InProcess Place = "process" // in a process of its own without a terminal
	InOwner   Place = "owner"   // in the process that owns the session; only in workers
)

// Role is how an agent works and to whom it reports.
type Role string

// The roles.
const (
	Lead       Role = "lead"       // talks with the user
	Foreground Role = "foreground" // its parent's tool call waits for it
	Background Role = "background" // reports to its parent by message
	Teammate   Role = "teammate"   // continues after each turn, reports to the lead
	User       Role = "user"       // not an agent: the outbox of the user
	Program    Role = "outside"    // not an agent: a program with a mailbox
)

// IsAgent reports whether members of the role are agents.
func (r Role) IsAgent() bool { return r != User && r != Program }

// Link is what happens to a background agent when the agent that it works for ends
// unfinished.
type Link string

// The links.
const (
	Reparent Link = "re-parent" // it continues and reports to the nearest agent above that has not ended
	Continue Link = "continue"  // it continues, and its report wakes the one that ended, if possible
	StopWith Link = "stop"      // it is stopped too
)

// Outcome is how a turn ended.
type Outcome string

// The outcomes of a turn.
const (
	Completed   Outcome = "completed"
	MaxTurns    Outcome = "max_turns"
	Interrupted Outcome = "interrupted"
	Stopped     Outcome = "stopped"
	Failed      Outcome = "failed"
	TimedOut    Outcome = "timed_out"
	OverBudget  Outcome = "over_budget"
)

// Is reports whether name is the id of the team or, in any case, its name.
func (m Membership) Is(name string) bool {
	return strings.EqualFold(m.Team, name) || strings.EqualFold(m.Name, name)
}
