package actors

import (
	"time"

	"github.com/actorswarm/swarm/mailbox"
)

// ShutdownOptions configure a shutdown.
type ShutdownOptions struct {
	// Reason is shown to the member.
	Reason string
	// Grace is the time in which the member may finish or object; 0 ends it at once.
	Grace time.Duration
	// Key makes the request repeatable: two requests of one agent with the same key are
	// one. Without a key each request is a new one.
	Key string
}

// ShutdownResult is the result of a shutdown.
type ShutdownResult struct {
	Name      string `json:"name"`
	Gone      bool   `json:"gone"`
	Why       string `json:"why,omitempty"`       // why it has ended
	Objection string `json:"objection,omitempty"` // why it does not want to end; it may object once
	// Ended is the member and all that worked for it.
	Ended []Ended `json:"ended,omitempty"`
}

// Ended is the end of one agent of a tree that was stopped.
type Ended struct {
	ID    mailbox.AgentID `json:"id"`
	Name  string          `json:"name"`
	State string          `json:"state"` // how it ended, now or before
	Error string          `json:"error,omitempty"`
}

// String returns a line for people.
func (e Ended) String() string {
	if e.Error != "" {
		return e.Name + ": still running: " + e.Error
	}
	return e.Name + ": " + e.State
}
