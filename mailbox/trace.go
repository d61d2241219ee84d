package mailbox

import (
	"fmt"
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

// Join adds what the receiver of the message has recorded to what its sender has:
// the receiver knows the times.
func (t Trace) Join(receiver Trace) Trace {
	all := slices.Clone(receiver.Steps)
	for _, s := range t.Steps {
		i := slices.IndexFunc(all, func(x Step) bool { return x.State == s.State })
		switch {
		case i < 0:
			all = append(all, s)
		case all[i].Time.IsZero():
			all[i] = s
		}
	}
	t.Steps = all
	return t
}

// WithPending adds to the messages that an agent has got those that are on their way
// to it.
func WithPending(got []Trace, pending []Envelope, to AgentID) []Trace {
	for _, e := range pending {
		here := slices.ContainsFunc(got, func(t Trace) bool { return t.Envelope.ID == e.ID })
		if e.To.Agent == to && !here {
			got = append(got, Trace{Envelope: e, Steps: []Step{{State: StateAccepted, Time: e.Sent}}})
		}
	}
	return got
}

// UnknownMessageError reports an id that no message of a session has.
type UnknownMessageError struct{ ID ID }

func (e *UnknownMessageError) Error() string {
	return fmt.Sprintf("there is no message %.80q in the session; swarm inbox NAME lists those of an agent", e.ID)
}
