package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/actorswarm/swarm/internal/journal"
)

// ConsentState is a person's decision about a tool call.
type ConsentState string

// The states of consent; "" means that no person was asked.
const (
	ConsentAsked   ConsentState = "asked"
	ConsentAllowed ConsentState = "allowed" // or the call's own questions were answered
	ConsentDenied  ConsentState = "denied"
	ConsentExpired ConsentState = "expired"
	ConsentDropped ConsentState = "dropped" // of a held message: a newer one took its place, or the options refuse it now
)

// Consent is what is known of a person's decision about a tool call.
type Consent struct {
	State   ConsentState    `json:"state"`
	Asked   time.Time       `json:"asked,omitzero"`
	Expires time.Time       `json:"expires,omitzero"` // zero: never
	By      string          `json:"by,omitempty"`     // who decided
	Note    string          `json:"note,omitempty"`
	Answer  json.RawMessage `json:"answer,omitempty"` // to the call's own questions
}

// Decided reports whether the question is closed.
func (c Consent) Decided() bool { return c.State != "" && c.State != ConsentAsked }

// ErrDecided is the error of a second decision about a call or a held message.
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

// Consents is what a person decides about the tool calls of an agent's newest answer.
type Consents struct{ t *Transcript }

// Consents returns what a person decides about the calls of the newest answer.
func (t *Transcript) Consents() Consents { return Consents{t} }

// Of returns what a person has decided about a call.
func (c Consents) Of(call string) (Consent, error) {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	if err := c.t.load(); err != nil {
		return Consent{}, err
	}
	return consentOf(c.t.conv.call(call)), nil
}

// Ask records that a person is asked about a call, and until when; 0 is for ever. What
// was recorded before a restart stays. Ask returns the consent on record, once it is on
// disk.
func (c Consents) Ask(call string, within time.Duration) (Consent, error) {
	consent, ticket, err := c.ask(call, within)
	if err != nil || ticket == (journal.Ticket{}) {
		return consent, err // recorded before
	}
	return consent, ticket.Wait()
}

func (c Consents) ask(call string, within time.Duration) (Consent, journal.Ticket, error) {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	open, err := c.undone(call)
	if err != nil || open.Consent.State != "" {
		return consentOf(open), journal.Ticket{}, err
	}
	m := &consentMeta{Time: time.Now(), Call: call, State: ConsentAsked}
	if within > 0 {
		m.Expires = m.Time.Add(within)
	}
	ticket, err := c.t.add(kindConsent, m, nil)
	return open.Consent, ticket, err
}

func consentOf(c *CallState) Consent {
	if c == nil {
		return Consent{}
	}
	return c.Consent
}

// Decide records what a person decided about a call, or that nobody did in time. It
// returns when that is on disk. A second decision is ErrDecided.
func (c Consents) Decide(call string, d Consent) error {
	ticket, err := c.decide(call, d)
	return wait(ticket, err)
}

func (c Consents) decide(call string, d Consent) (journal.Ticket, error) {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	open, err := c.undone(call)
	switch {
	case err != nil:
		return journal.Ticket{}, err
	case open.Consent.Decided():
		return journal.Ticket{}, ErrDecided
	}
	return c.t.add(kindConsent, &consentMeta{
		Time: time.Now(), Call: call, State: d.State, By: d.By, Note: d.Note, Answer: d.Answer,
	}, nil)
}

// undone returns a call of the newest answer that has no result yet. mu is held.
func (c Consents) undone(call string) (*CallState, error) {
	if err := c.t.load(); err != nil {
		return nil, err
	}
	open := c.t.conv.call(call)
	if open == nil || open.Done {
		return nil, fmt.Errorf("transcript: call %s does not wait for a decision any more", call)
	}
	return open, nil
}
