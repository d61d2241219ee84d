package transcript

import (
	"fmt"
	"slices"
	"time"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/mailbox"
)

// Mail is one message and how far it has come.
type Mail struct {
	Envelope mailbox.Envelope `json:"envelope"`
	Steps    []MailStep       `json:"steps"` // what became of it, in order
}

// MailStep is one state that a message reached.
type MailStep struct {
	State  mailbox.State `json:"state"`
	Time   time.Time     `json:"time,omitzero"` // zero if it was not noted
	Reason string        `json:"reason,omitempty"`
}

// State returns how far the message has come.
func (m Mail) State() mailbox.State {
	if len(m.Steps) == 0 {
		return ""
	}
	return m.Steps[len(m.Steps)-1].State
}

// Unread reports whether the receiver has still to read the message.
func (m Mail) Unread() bool {
	return m.State() == mailbox.StateAccepted || m.State() == mailbox.StateDelivered
}

func (m *Mail) step(s MailStep) {
	if !slices.ContainsFunc(m.Steps, func(old MailStep) bool { return old.State == s.State }) && !m.State().Final() {
		m.Steps = append(m.Steps, s)
	}
}

// Inbox returns every message that the agent has got, oldest first, with what
// became of it here: delivered, read, or expired because a newer one took its
// place. It reads the agent's whole history.
func (s *Store) Inbox(id mailbox.AgentID) ([]Mail, error) {
	box := inbox{ledger: mailbox.NewLedger(id), at: map[mailbox.ID]int{}}
	err := s.eachRecord(id, box.follow)
	return box.all, err
}

// inbox is what the records of an agent say of the mail that it has got.
type inbox struct {
	all    []Mail
	at     map[mailbox.ID]int // in all
	ledger *mailbox.Ledger
}

func (b *inbox) follow(r journal.Record) error {
	switch r.Kind {
	case kindArrived:
		e, c, err := decodeArrival(r.Data)
		if err != nil {
			return err
		}
		b.step(b.ledger.Superseded(e), MailStep{State: mailbox.StateExpired, Reason: "superseded by message " + string(e.ID)})
		b.ledger.Arrived(e, c)
		b.at[e.ID] = len(b.all)
		b.all = append(b.all, Mail{e, []MailStep{{State: mailbox.StateAccepted, Time: e.Sent}, {State: mailbox.StateDelivered}}})
	case kindRequest:
		var m requestMeta
		if _, err := decode(r.Data, &m); err != nil {
			return err
		}
		b.read(m.Mail, MailStep{State: mailbox.StateRead, Time: m.Time})
	case kindRead:
		var m readMeta
		if _, err := decode(r.Data, &m); err != nil {
			return err
		}
		b.read(m.Mail, m.step())
	}
	return nil
}

func (b *inbox) read(ids []mailbox.ID, s MailStep) {
	b.ledger.Read(ids...)
	b.step(ids, s)
}

func (b *inbox) step(ids []mailbox.ID, s MailStep) {
	for _, id := range ids {
		if i, ok := b.at[id]; ok {
			b.all[i].step(s)
		}
	}
}

// Sent returns the message with an id as its sender knows it.
func (s *Store) Sent(id mailbox.ID) (Mail, bool, error) {
	for _, t := range s.All() {
		var m Mail
		err := s.eachRecord(t.ID(), func(r journal.Record) error { return m.follow(id, r) })
		if err != nil || m.Envelope.ID == id {
			return m, err == nil, err
		}
	}
	return Mail{}, false, nil
}

// follow takes from a record of its sender what it says of the message.
func (m *Mail) follow(id mailbox.ID, r journal.Record) error {
	switch r.Kind {
	case kindSent:
		e, err := mailbox.DecodeBinary(r.Data)
		if err == nil && e.ID == id {
			*m = Mail{e, []MailStep{{State: mailbox.StateAccepted, Time: e.Sent}}}
		}
		return err
	case kindSettled:
		got, err := mailbox.DecodeBinaryReceipt(r.Data)
		switch {
		case err != nil || m.Envelope.ID != id || got.From.Agent != m.Envelope.To.Agent:
			return err
		case slices.Contains(got.IDs, id):
			m.step(MailStep{State: got.State, Reason: got.Reason})
		case got.Through >= m.Envelope.Seq:
			m.step(MailStep{State: mailbox.StateDelivered})
		}
	case kindArrived:
		e, _, err := decodeArrival(r.Data)
		if err == nil && e.InReplyTo == id && e.From.Agent == m.Envelope.To.Agent {
			m.step(MailStep{State: mailbox.StateAnswered, Time: e.Sent, Reason: "by message " + string(e.ID)})
		}
		return err
	}
	return nil
}

func (s *Store) eachRecord(id mailbox.AgentID, see func(journal.Record) error) error {
	if !s.opts.ReadOnly {
		if err := s.journal.Sync(); err != nil {
			return err
		}
	}
	for r, err := range s.journal.History(string(id)) {
		if err == nil {
			err = see(r)
		}
		if err != nil {
			return fmt.Errorf("transcript: read the mail of %s: %w", id, err)
		}
	}
	return nil
}
