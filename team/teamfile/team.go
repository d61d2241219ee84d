package teamfile

import (
	"time"

	"github.com/actorswarm/swarm/budget"
)

// Team is the content of a team file.
type Team struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Path        string   `json:"path"`
	Members     []Member `json:"members"`
	Tasks       []Task   `json:"tasks,omitempty"` // in an order in which none waits for a later one
}

// Member is a member of a team.
type Member struct {
	Name string `json:"name"`
	Line int    `json:"line,omitempty"` // of the file; 0: of none
	// Agent, if set, is an agent that the session has already, by name, team/name
	// or id: it joins the team. Every other field but Leads and Line is then empty.
	Agent        string        `json:"agent,omitempty"`
	Type         string        `json:"type,omitempty"`   // of agent; empty is general-purpose
	Prompt       string        `json:"prompt,omitempty"` // empty: it waits for its first message
	Model        string        `json:"model,omitempty"`
	Effort       string        `json:"effort,omitempty"`
	Mode         string        `json:"mode,omitempty"`
	Color        string        `json:"color,omitempty"`
	Cwd          string        `json:"cwd,omitempty"` // below that of the team's lead
	Worktree     bool          `json:"worktree,omitempty"`
	PlanRequired bool          `json:"plan_mode_required,omitempty"`
	MaxTurns     int           `json:"max_turns,omitempty"`
	Restarts     int           `json:"restarts,omitempty"` // of failed turns; 0 is never
	Within       time.Duration `json:"within,omitempty"`   // the time in which restarts count; 0 is an hour
	Budget       budget.Limits `json:"budget,omitzero"`
	Leads        *Team         `json:"leads,omitempty"` // the team that it leads
}

// Task is something for the team's list.
type Task struct {
	Key         string   `json:"key"` // by which others of the file wait for it
	Subject     string   `json:"subject"`
	Description string   `json:"description,omitempty"`
	Writes      bool     `json:"writes,omitempty"`
	Owner       string   `json:"owner,omitempty"`
	After       []string `json:"after,omitempty"` // keys of tasks that are to be done before
}
