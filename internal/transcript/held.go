package transcript

import (
	"slices"
	"time"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/mailbox"
)

// HeldMessage is a message of another session that waits until a person decides about
// it, with the decision. It is on record with the member that represents the session.
type HeldMessage struct {
	Consent
	ID      mailbox.ID  `json:"id"`   // that the message has there
	From    string      `json:"from"` // the agent there
	Mode    string      `json:"mode"` // the permission mode of that session, as it states it
	Summary string      `json:"summary,omitempty"`
	Body    string      `json:"body,omitempty"` // empty once it is decided
	Ref     mailbox.Ref `json:"ref,omitempty"`  // of a long body
}

// mostDecided bounds the decided messages that are remembered, so that their sender
// learns what was decided.
const mostDecided = 100

// heldMeta is the record of a message about which a person is asked, or of the decision
// about it.
type heldMeta struct {
	Time    time.Time   `json:"t"`
	Message HeldMessage `json:"letter"`
}

func (s *state) applyHeld(m *heldMeta) {
	s.Active = m.Time
	all := slices.DeleteFunc(slices.Clone(s.held), func(o HeldMessage) bool { return o.ID == m.Message.ID })
	one := m.Message
	if one.Decided() {
		one.Body, one.Ref = "", ""
		decided := 0
		for _, o := range slices.Backward(all) {
			if o.Decided() {
				decided++
			}
			if decided == mostDecided {
				all = slices.DeleteFunc(all, func(x HeldMessage) bool { return x.ID == o.ID })
				break
			}
		}
	}
	s.held = append(all, one)
}

// Held is the messages of other sessions that the member of this transcript holds until
// a person has decided about them.
type Held struct{ t *Transcript }

// Held returns the messages of other sessions that the member holds.
func (t *Transcript) Held() Held { return Held{t} }

// All returns the messages, those decided included, the one that changed last at the
// end.
func (h Held) All() []HeldMessage {
	h.t.mu.Lock()
	defer h.t.mu.Unlock()
	return slices.Clone(h.t.state.held)
}

// Get returns the message with an id.
func (h Held) Get(id mailbox.ID) (HeldMessage, bool) {
	h.t.mu.Lock()
	defer h.t.mu.Unlock()
	return h.get(id)
}

// get is Get with mu held.
func (h Held) get(id mailbox.ID) (HeldMessage, bool) {
	at := slices.IndexFunc(h.t.state.held, func(o HeldMessage) bool { return o.ID == id })
	if at < 0 {
		return HeldMessage{}, false
	}
	return h.t.state.held[at], true
}

// Add records a message about which a person is asked until m.Expires; zero is for
// ever. A message that is on record already stays as it is. Add returns the message on
// record, once it is on disk.
func (h Held) Add(m HeldMessage) (HeldMessage, error) {
	body, err := h.t.store.storeLongBody(mailbox.Envelope{Kind: mailbox.KindText, Body: m.Body})
	if err != nil {
		return m, err
	}
	m.Body, m.Ref, m.State, m.Asked = body.Body, body.Ref, ConsentAsked, time.Now()
	m, ticket, err := h.add(m)
	if err != nil || ticket == (journal.Ticket{}) {
		return m, err // recorded before
	}
	if err := ticket.Wait(); err != nil || m.Ref == "" {
		return m, err
	}
	return m, h.t.store.objects.MarkReferenced(m.Ref)
}

func (h Held) add(m HeldMessage) (HeldMessage, journal.Ticket, error) {
	h.t.mu.Lock()
	defer h.t.mu.Unlock()
	if known, ok := h.get(m.ID); ok {
		return known, journal.Ticket{}, nil
	}
	ticket, err := h.t.add(kindHeld, &heldMeta{Time: m.Asked, Message: m}, nil)
	return m, ticket, err
}

// Decide records what a person decided about a message, or that nobody did in time. It
// returns when that is on disk. A second decision is ErrDecided.
func (h Held) Decide(id mailbox.ID, d Consent) error {
	ticket, err := h.decide(id, d)
	return wait(ticket, err)
}

func (h Held) decide(id mailbox.ID, d Consent) (journal.Ticket, error) {
	h.t.mu.Lock()
	defer h.t.mu.Unlock()
	m, ok := h.get(id)
	if !ok || m.Decided() {
		return journal.Ticket{}, ErrDecided
	}
	m.State, m.By, m.Note, m.Body, m.Ref = d.State, d.By, d.Note, "", ""
	return h.t.add(kindHeld, &heldMeta{Time: time.Now(), Message: m}, nil)
}

// HeldBody returns the whole body of a message that is not decided.
func (s *Store) HeldBody(m HeldMessage) (string, error) {
	return s.Body(mailbox.Envelope{Body: m.Body, Ref: m.Ref})
}
