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
	var all []Mail
	ledger := mailbox.NewLedger(id)
	found := func(id mailbox.ID) *Mail {
		i := slices.IndexFunc(all, func(m Mail) bool { return m.Envelope.ID == id })
		if i < 0 {
			return nil
		}
		return &all[i]
	}
	err := s.eachRecord(id, func(r journal.Record) error {
		switch r.Kind {
		case kindArrived:
			e, c, err := decodeArrival(r.Data)
			if err != nil {
				return err
			}
			for _, stale := range ledger.Superseded(e) {
				found(stale).step(MailStep{State: mailbox.StateExpired, Reason: "superseded by message " + string(e.ID)})
			}
			ledger.Arrived(e, c)
			all = append(all, Mail{e, []MailStep{{State: mailbox.StateAccepted, Time: e.Sent}, {State: mailbox.StateDelivered}}})
		case kindRequest:
			var m requestMeta
			if _, err := decode(r.Data, &m); err != nil {
				return err
			}
			ledger.Read(m.Mail...)
			for _, id := range m.Mail {
				if mail := found(id); mail != nil {
					mail.step(MailStep{State: mailbox.StateRead, Time: m.Time})
				}
			}
		}
		return nil
	})
	return all, err
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
