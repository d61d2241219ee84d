package mailbox

import (
	"slices"
	"time"
)

// Trace is one message and how far it has come.
type Trace struct {
	Envelope Envelope `json:"envelope"`
	Steps    []Step   `json:"steps"` // what became of it, in order
}

// Step is one state that a message reached.
type Step struct {
	State  State     `json:"state"`
	Time   time.Time `json:"time,omitzero"` // zero if it was not noted
	Reason string    `json:"reason,omitempty"`
}

// State returns how far the message has come.
func (t Trace) State() State {
	if len(t.Steps) == 0 {
		return ""
	}
	return t.Steps[len(t.Steps)-1].State
}

// Unread reports whether the receiver has still to read the message.
func (t Trace) Unread() bool {
	return t.State() == StateAccepted || t.State() == StateDelivered
}

// Add notes a state that the message reached. One that is noted already, or that
// comes after a final one, changes nothing.
func (t *Trace) Add(s Step) {
	if !slices.ContainsFunc(t.Steps, func(old Step) bool { return old.State == s.State }) && !t.State().Final() {
		t.Steps = append(t.Steps, s)
	}
}
