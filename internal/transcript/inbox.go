package transcript

import (
	"fmt"
	"slices"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/mailbox"
)

// Inbox returns every message that the agent has got, oldest first, with what became of
// it: delivered, read, rejected, or expired since a newer one took its place. It reads
// the agent's whole history.
func (s *Store) Inbox(id mailbox.AgentID) ([]mailbox.Trace, error) {
	box := inbox{ledger: mailbox.NewLedger(id), at: map[mailbox.ID]int{}}
	err := s.eachRecord(id, box.addRecord)
	return box.all, err
}

// inbox is the fold of the records about mail that an agent has got.
type inbox struct {
	all    []mailbox.Trace
	at     map[mailbox.ID]int // in all
	ledger *mailbox.Ledger
}

func (b *inbox) addRecord(r journal.Record) error {
	switch r.Kind {
	case kindArrived:
		e, c, err := decodeArrival(r.Data)
		if err != nil {
			return err
		}
		b.step(b.ledger.Superseded(e), mailbox.Step{State: mailbox.StateExpired, Reason: "superseded by message " + string(e.ID)})
		b.ledger.Arrived(e, c)
		b.at[e.ID] = len(b.all)
		b.all = append(b.all, mailbox.Trace{Envelope: e, Steps: []mailbox.Step{{State: mailbox.StateAccepted, Time: e.Sent}, {State: mailbox.StateDelivered}}})
	case kindRequest:
		var m requestMeta
		if _, err := decode(r.Data, &m); err != nil {
			return err
		}
		b.read(m.Mail, mailbox.Step{State: mailbox.StateRead, Time: m.Time})
	case kindRead:
		var m readMeta
		if _, err := decode(r.Data, &m); err != nil {
			return err
		}
		b.read(m.Mail, m.step())
	}
	return nil
}

func (b *inbox) read(ids []mailbox.ID, s mailbox.Step) {
	b.ledger.Read(ids...)
	b.step(ids, s)
}

func (b *inbox) step(ids []mailbox.ID, s mailbox.Step) {
	for _, id := range ids {
		if i, ok := b.at[id]; ok {
			b.all[i].Add(s)
		}
	}
}

// Sent returns the message with an id as it is on record with its sender.
func (s *Store) Sent(id mailbox.ID) (mailbox.Trace, bool, error) {
	for _, t := range s.All() {
		var m mailbox.Trace
		err := s.eachRecord(t.ID(), func(r journal.Record) error { return traceRecord(&m, id, r) })
		if err != nil || m.Envelope.ID == id {
			return m, err == nil, err
		}
	}
	return mailbox.Trace{}, false, nil
}

// traceRecord adds to m what a record of the message's sender holds about the message.
func traceRecord(m *mailbox.Trace, id mailbox.ID, r journal.Record) error {
	switch r.Kind {
	case kindSent:
		e, err := mailbox.DecodeBinary(r.Data)
		if err == nil && e.ID == id {
			*m = mailbox.Trace{Envelope: e, Steps: []mailbox.Step{{State: mailbox.StateAccepted, Time: e.Sent}}}
		}
		return err
	case kindReceipt:
		got, err := mailbox.DecodeBinaryReceipt(r.Data)
		switch {
		case err != nil || m.Envelope.ID != id || got.From.Agent != m.Envelope.To.Agent:
			return err
		case slices.Contains(got.IDs, id):
			m.Add(mailbox.Step{State: got.State, Reason: got.Reason})
		case got.Through >= m.Envelope.Seq:
			m.Add(mailbox.Step{State: mailbox.StateDelivered})
		}
	case kindArrived:
		e, _, err := decodeArrival(r.Data)
		if err == nil && e.InReplyTo == id && e.From.Agent == m.Envelope.To.Agent {
			m.Add(mailbox.Step{State: mailbox.StateAnswered, Time: e.Sent, Reason: "by message " + string(e.ID)})
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
