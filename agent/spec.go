package agent

import (
	"strings"
	"time"

	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/mailbox"
)

// Spec is what an agent is, fixed when it is born.
type Spec struct {
	ID          mailbox.AgentID `json:"id"`
	Name        string          `json:"name"`                  // as others address it
	Type        string          `json:"type"`                  // definition it was made from
	Description string          `json:"description,omitempty"` // of the task, for people
	Color       string          `json:"color,omitempty"`
	Parent      mailbox.AgentID `json:"parent,omitempty"`
	Call        string          `json:"call,omitempty"`   // the parent's tool call that asked for it
	Answer      int             `json:"answer,omitempty"` // which of the parent's answers has that call, from 1
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
	Link        Link            `json:"link,omitempty"`  // of a child; empty is Reparent
	Budget      budget.Limits   `json:"budget,omitzero"` // of the agent and all below it
	// Teams are those that the agent is in or leads, the one it works in first.
	// Nil is what its role says: a lead and a teammate are in the session's team.
	Teams   []Membership `json:"teams,omitzero"`
	Restart Restart      `json:"restart,omitzero"`
	Born    time.Time    `json:"born"`
	// Where says which other process hosts the agent, as far as this node is
	// concerned: a Place. Its transcript there is the truth; the one here is a
	// shadow, which follows what that process reports. Empty is here.
	Where Place `json:"where,omitempty"`
	// PlanRequired agents change nothing before a plan of theirs is approved.
	PlanRequired bool `json:"plan_required,omitempty"`
}

// Membership is an agent's place in a team. What a team is follows from the
// memberships of all agents.
type Membership struct {
	Team   string          `json:"team"`             // generated; no two teams have the same
	Name   string          `json:"name"`             // for people and models
	Lead   mailbox.AgentID `json:"lead"`             // to whom the members answer
	Seeded bool            `json:"seeded,omitempty"` // of the lead: the first tasks are on the list
}

// Restart says whether an agent goes on by itself after a turn that failed. The
// zero value is that it does not.
type Restart struct {
	Max    int           `json:"max,omitempty"`    // turns begun anew within the time
	Within time.Duration `json:"within,omitempty"` // in nanoseconds; 0 is an hour
}

// Place is where an agent's host runs, if not in this process.
type Place string

// The places.
const (
	InTmux    Place = "tmux"    // in a process of its own in a tmux pane
	InProcess Place = "process" // in a process of its own without a terminal
	AtOwner   Place = "owner"   // in the process that owns the session; only in nodes
)

// Role says how an agent lives and to whom it answers.
type Role string

// The roles.
const (
	Lead       Role = "lead"       // talks with the user
	Foreground Role = "foreground" // its parent's tool call waits for it
	Background Role = "background" // reports to its parent by message
	Teammate   Role = "teammate"   // lives on after each turn, reports to the lead
	User       Role = "user"       // no agent: the outbox of the person
	Outside    Role = "outside"    // no agent: a program of somebody's with a mailbox here
)

// Runs reports whether members of that role are agents of this node.
func (r Role) Runs() bool { return r != User && r != Outside }

// Link says what becomes of an agent that works in the background when the one
// it works for ends before it, other than by being done.
type Link string

// The links.
const (
	Reparent Link = "re-parent" // it goes on and reports to the nearest above that has not ended
	Continue Link = "continue"  // it goes on and its report wakes the one that has ended, if that may be woken
	StopWith Link = "stop"      // it is stopped too
)

// Outcome says how a turn ended.
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

// Is reports whether name, an id or a label in any case, means the team.
func (m Membership) Is(name string) bool {
	return strings.EqualFold(m.Team, name) || strings.EqualFold(m.Name, name)
}
