package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/actorswarm/swarm/internal/journal"
)

// ConsentState is what a person has said to a tool call.
type ConsentState string

// The states of consent; "" is that nobody was asked.
const (
	ConsentAsked   ConsentState = "asked"
	ConsentAllowed ConsentState = "allowed" // also: the call's own questions were answered
	ConsentDenied  ConsentState = "denied"
	ConsentExpired ConsentState = "expired"
	ConsentDropped ConsentState = "dropped" // of a letter: others took its place, or none is taken any more
)

// Consent is what is known of a person's word on a tool call.
type Consent struct {
	State   ConsentState    `json:"state"`
	Asked   time.Time       `json:"asked,omitzero"`
	Expires time.Time       `json:"expires,omitzero"` // zero: never
	By      string          `json:"by,omitempty"`     // who decided
	Note    string          `json:"note,omitempty"`
	Answer  json.RawMessage `json:"answer,omitempty"` // to the call's own questions
}

// Decided reports whether the question is settled.
func (c Consent) Decided() bool { return c.State != "" && c.State != ConsentAsked }

// ErrDecided is the answer to a second decision about a call.
var ErrDecided = errors.New("transcript: the call is decided already")

type consentMeta struct {
	Time    time.Time       `json:"t"`
	Call    string          `json:"call"`
	State   ConsentState    `json:"state"`
	Expires time.Time       `json:"expires,omitzero"`
	By      string          `json:"by,omitempty"`
	Note    string          `json:"note,omitempty"`
	Answer  json.RawMessage `json:"answer,omitempty"`
}

// apply folds the record into what was known before it.
func (c *Consent) apply(m consentMeta) {
	if m.State == ConsentAsked {
		*c = Consent{State: m.State, Asked: m.Time, Expires: m.Expires}
		return
	}
	c.State, c.By, c.Note, c.Answer = m.State, m.By, m.Note, m.Answer
}

// Consent returns what a person has said to a call of the newest answer.
func (t *Transcript) Consent(call string) (Consent, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return Consent{}, err
	}
	if c := t.talk.call(call); c != nil {
		return c.Consent, nil
	}
	return Consent{}, nil
}

// Ask records that a person is asked about a call of the newest answer, and
// until when; 0 is for ever. What was recorded before a restart stays. It
// returns what counts when that is on disk.
func (t *Transcript) Ask(call string, within time.Duration) (Consent, error) {
	c, ticket, err := t.ask(call, within)
	if err != nil || ticket == (journal.Ticket{}) {
		return c, err // recorded before
	}
	return c, ticket.Wait()
}

func (t *Transcript) ask(call string, within time.Duration) (Consent, journal.Ticket, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, err := t.undone(call)
	if err != nil || c.Consent.State != "" {
		return consentOf(c), journal.Ticket{}, err
	}
	m := &consentMeta{Time: time.Now(), Call: call, State: ConsentAsked}
	if within > 0 {
		m.Expires = m.Time.Add(within)
	}
	ticket, err := t.add(kindConsent, m, nil)
	return c.Consent, ticket, err
}

func consentOf(c *CallState) Consent {
	if c == nil {
		return Consent{}
	}
	return c.Consent
}

// Decide records what a person said to a call of the newest answer, or that
// nobody did in time. It returns when that is on disk. A second decision is
// ErrDecided.
func (t *Transcript) Decide(call string, d Consent) error {
	ticket, err := t.decide(call, d)
	return wait(ticket, err)
}

func (t *Transcript) decide(call string, d Consent) (journal.Ticket, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, err := t.undone(call)
	switch {
	case err != nil:
		return journal.Ticket{}, err
	case c.Consent.Decided():
		return journal.Ticket{}, ErrDecided
	}
	return t.add(kindConsent, &consentMeta{
		Time: time.Now(), Call: call, State: d.State, By: d.By, Note: d.Note, Answer: d.Answer,
	}, nil)
}

// undone returns a call of the newest answer that has no result yet. mu is held.
func (t *Transcript) undone(call string) (*CallState, error) {
	if err := t.load(); err != nil {
		return nil, err
	}
	c := t.talk.call(call)
	if c == nil || c.Done {
		return nil, fmt.Errorf("transcript: nobody waits for a decision about call %s any more", call)
	}
	return c, nil
}
