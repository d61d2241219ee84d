package protocol

import (
	"fmt"
	"time"

	"github.com/actorswarm/swarm/mailbox"
)

// ShutdownPhase is the phase of a shutdown.
type ShutdownPhase string

// The phases; "" is that no shutdown was requested.
const (
	ShutdownAsked    ShutdownPhase = "asked"    // the member may object or finish until the deadline
	ShutdownObjected ShutdownPhase = "objected" // it has objected and continues
	ShutdownEnding   ShutdownPhase = "ending"   // it is being cancelled
	ShutdownGone     ShutdownPhase = "gone"     // nothing of it runs, and it cannot be woken
)

// The reasons for the end of a shutdown.
const (
	ShutdownAgreed   = "agreed"
	ShutdownFinished = "finished" // it has finished its work
	ShutdownExpired  = "the grace time ran out"
	ShutdownForced   = "no grace time was given"
)

// Shutdown is the state of a member's shutdown. The zero value is that none
// was requested.
type Shutdown struct {
	Phase     ShutdownPhase   `json:"phase,omitempty"`
	ID        string          `json:"request_id,omitempty"`
	By        mailbox.AgentID `json:"by,omitempty"`     // who asked
	Reason    string          `json:"reason,omitempty"` // of who asked
	Deadline  time.Time       `json:"deadline,omitzero"`
	Objection string          `json:"objection,omitempty"` // of the member, in its words
	Objected  bool            `json:"objected,omitempty"`  // the member cannot object again
	Key       string          `json:"key,omitempty"`       // of the newest response
	Why       string          `json:"why,omitempty"`       // the member ends
}

// Leaving reports whether the member has stopped working for good.
func (s Shutdown) Leaving() bool { return s.Phase == ShutdownEnding || s.Phase == ShutdownGone }

// ShutdownEvent is one of Ask, Respond, Finish, Expire and Gone.
type ShutdownEvent interface{ shutdown() }

type (
	// Ask is the request. Without grace the member cannot object.
	Ask struct {
		ID     string
		By     mailbox.AgentID
		Reason string
		Now    time.Time
		Grace  time.Duration
	}
	// Respond is the member's answer. A repeated response has the Key
	// of the first.
	Respond struct {
		ID      string
		Approve bool
		Reason  string
		Key     string
	}
	// Finish reports that the member has nothing left to do.
	Finish struct{}
	// Expire reports the time.
	Expire struct{ Now time.Time }
	// Gone reports that nothing of the member runs any more.
	Gone struct{}
)

func (Ask) shutdown()     {}
func (Respond) shutdown() {}
func (Finish) shutdown()  {}
func (Expire) shutdown()  {}
func (Gone) shutdown()    {}

// Effect is what a new state asks of the runtime.
type Effect int

// The effects.
const (
	Nothing      Effect = iota
	Show                // the request to the member
	Object              // notify the requester that the member objects
	CarryOut            // end the member
	AskLead             // show the plan to those who decide
	ShowDecision        // show the decision to the member, which continues
)

// Next returns the state after an event.
func (s Shutdown) Next(e ShutdownEvent) (Shutdown, Effect, error) {
	switch e := e.(type) {
	case Ask:
		return s.asked(e)
	case Respond:
		return s.responded(e)
	case Finish:
		if s.Phase == ShutdownAsked {
			return s.ending(ShutdownFinished)
		}
	case Expire:
		if s.Phase == ShutdownAsked && !e.Now.Before(s.Deadline) {
			return s.ending(ShutdownExpired)
		}
	case Gone:
		if s.Phase == ShutdownEnding {
			s.Phase = ShutdownGone
		}
	}
	return s, Nothing, nil
}

func (s Shutdown) asked(e Ask) (Shutdown, Effect, error) {
	deadline := e.Now.Add(e.Grace)
	switch {
	case s.Leaving(), s.ID == e.ID:
		return s, Nothing, nil
	case e.Grace <= 0:
		s.ID, s.By, s.Reason, s.Deadline = e.ID, e.By, e.Reason, e.Now
		return s.ending(ShutdownForced)
	case s.Phase == ShutdownAsked: // one request stands; the nearer deadline counts
		if deadline.Before(s.Deadline) {
			s.Deadline = deadline
		}
		return s, Nothing, nil
	}
	s.Phase, s.ID, s.By, s.Reason, s.Deadline, s.Key = ShutdownAsked, e.ID, e.By, e.Reason, deadline, ""
	return s, Show, nil
}

func (s Shutdown) responded(e Respond) (Shutdown, Effect, error) {
	switch {
	case s.ID == "":
		return s, Nothing, fmt.Errorf("%w: nobody has asked for a shutdown", ErrNoRequest)
	case s.ID != e.ID:
		return s, Nothing, fmt.Errorf("%w: it is %s, not %q", ErrWrongID, s.ID, e.ID)
	case s.Key != "" && s.Key == e.Key:
		return s, s.repeated(), nil
	case s.Phase != ShutdownAsked:
		return s, Nothing, fmt.Errorf("%w: %s", ErrLate, s.ID)
	case !e.Approve && s.Objected:
		return s, Nothing, fmt.Errorf("%w: finish before the deadline", ErrNotRefusable)
	}
	s.Key = e.Key
	if e.Approve {
		return s.ending(ShutdownAgreed)
	}
	s.Phase, s.Objected, s.Objection = ShutdownObjected, true, e.Reason
	return s, Object, nil
}

// repeated is the effect of the response that brought the state about.
func (s Shutdown) repeated() Effect {
	if s.Phase == ShutdownObjected {
		return Object
	}
	return Nothing
}

func (s Shutdown) ending(why string) (Shutdown, Effect, error) {
	s.Phase, s.Why = ShutdownEnding, why
	return s, CarryOut, nil
}
