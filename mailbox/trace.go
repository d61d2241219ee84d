package mailbox

import (
	"fmt"
	"slices"
	"time"
)

// Trace is one message and the states that it has reached.
type Trace struct {
	Envelope Envelope `json:"envelope"`
	Steps    []Step   `json:"steps"` // in order
}

// Step is one state that a message reached.
type Step struct {
	State  State     `json:"state"`
	Time   time.Time `json:"time,omitzero"` // zero if it was not recorded
	Reason string    `json:"reason,omitempty"`
}

// State returns the last state that the message has reached.
func (t Trace) State() State {
	if len(t.Steps) == 0 {
		return ""
	}
	return t.Steps[len(t.Steps)-1].State
}

// Unread reports whether the receiver has yet to read the message.
func (t Trace) Unread() bool {
	return t.State() == StateAccepted || t.State() == StateDelivered
}

// Add records a state that the message reached. It ignores one that is recorded, and
// every state after a final one.
func (t *Trace) Add(s Step) {
	if !slices.ContainsFunc(t.Steps, func(old Step) bool { return old.State == s.State }) && !t.State().Final() {
		t.Steps = append(t.Steps, s)
	}
}

// Merge adds what the sender has recorded, t, to what the receiver has recorded, whose
// times count.
func (t Trace) Merge(receiver Trace) Trace {
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

// AppendPending appends to the messages that an agent has received those of pending that
// are on their way to it.
func AppendPending(got []Trace, pending []Envelope, to AgentID) []Trace {
	for _, e := range pending {
		here := slices.ContainsFunc(got, func(t Trace) bool { return t.Envelope.ID == e.ID })
		if e.To.Agent == to && !here {
			got = append(got, Trace{Envelope: e, Steps: []Step{{State: StateAccepted, Time: e.Sent}}})
		}
	}
	return got
}

// UnknownMessageError reports that no message of the session has the id.
type UnknownMessageError struct{ ID ID }

func (e *UnknownMessageError) Error() string {
	return fmt.Sprintf("there is no message %.80q in the session; swarm inbox NAME lists those of an agent", e.ID)
}
