package board

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/actorswarm/swarm/mailbox"
)

// ID is the number of a task as text, from 1.
type ID string

func (id ID) number() int {
	n, err := strconv.Atoi(string(id))
	if err != nil || n < 1 || strconv.Itoa(n) != string(id) {
		return 0
	}
	return n
}

// Status is the progress of a task.
type Status string

// The states of a task (agent-system spec §3.3). Deleted is only ever written by
// an update; a deleted task is not listed.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Deleted    Status = "deleted"
)

// Task is one task. It is a value: the board never changes one that it has returned.
type Task struct {
	ID          ID             `json:"id"`
	Subject     string         `json:"subject"`
	Description string         `json:"description,omitempty"`
	ActiveForm  string         `json:"activeForm,omitempty"`
	Status      Status         `json:"status"`
	Owner       string         `json:"owner,omitempty"` // display name
	Claim       *Claim         `json:"claim,omitempty"` // of the owner; nil while no member works on it
	Writes      bool           `json:"writes,omitempty"`
	BlockedBy   []ID           `json:"blockedBy,omitempty"` // tasks that are not completed
	Blocks      []ID           `json:"blocks,omitempty"`
	Metadata    map[string]any `json:"metadata,omitempty"`
	Author      string         `json:"author,omitempty"`
	Created     time.Time      `json:"created"`
	Changed     time.Time      `json:"changed"`
}

// Claim binds a task to one incarnation of its owner.
type Claim struct {
	Agent       mailbox.AgentID `json:"agent"`
	Incarnation uint32          `json:"incarnation"`
	Until       time.Time       `json:"until"`
}

func (c *Claim) holder() mailbox.Address {
	return mailbox.Address{Agent: c.Agent, Incarnation: c.Incarnation}
}

// heldBy reports whether an incarnation may act on the claim: the one that has made it, or
// a later one of the same agent, which has replaced it.
func (c *Claim) heldBy(a mailbox.Address) bool {
	return c != nil && c.Agent == a.Agent && c.Incarnation <= a.Incarnation
}

func (t Task) clone() Task {
	t.BlockedBy, t.Blocks = slices.Clone(t.BlockedBy), slices.Clone(t.Blocks)
	t.Metadata = maps.Clone(t.Metadata)
	if t.Claim != nil {
		c := *t.Claim
		t.Claim = &c
	}
	return t
}

// free reports whether the task can be claimed.
func (t Task) free() bool { return t.Status == Pending && t.Claim == nil && len(t.BlockedBy) == 0 }

// Member is an agent or program that acts on the board.
type Member struct {
	Address mailbox.Address
	Name    string
	Writes  bool // has tools that change files
	Lead    bool // may assign tasks and withdraw them
}
