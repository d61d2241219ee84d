package actors

import (
	"time"

	"github.com/actorswarm/swarm/mailbox"
)

// ShutdownOptions is a request that a member end.
type ShutdownOptions struct {
	// Reason is told to the member.
	Reason string
	// Grace is how long it may take, or object; without any it is ended at once.
	Grace time.Duration
	// Key makes the request repeatable: two of one asker with the same key are
	// one. Empty means that each is its own.
	Key string
}

// ShutdownResult is what came of a shutdown.
type ShutdownResult struct {
	Name      string `json:"name"`
	Gone      bool   `json:"gone"`
	Why       string `json:"why,omitempty"`       // it is gone
	Objection string `json:"objection,omitempty"` // what it said against it, once
	// Ended is the member and all that worked for it.
	Ended []Ended `json:"ended,omitempty"`
}

// Ended is what became of one agent of a tree that was stopped.
type Ended struct {
	ID    mailbox.AgentID `json:"id"`
	Name  string          `json:"name"`
	State string          `json:"state"` // how it ended, now or before
	Error string          `json:"error,omitempty"`
}

// String is a line for people.
func (e Ended) String() string {
	if e.Error != "" {
		return e.Name + ": still running: " + e.Error
	}
	return e.Name + ": " + e.State
}
