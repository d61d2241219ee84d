package transcript

import (
	"slices"

	"github.com/actorswarm/swarm/mailbox"
)

// Got returns a message that an agent has got, whether or not it has read it.
func (s *Store) Got(to mailbox.AgentID, id mailbox.ID) (e mailbox.Envelope, found bool, err error) {
	t, ok := s.Get(to)
	if !ok {
		return e, false, nil
	}
	for _, e := range t.Unread() { // in memory
		if e.ID == id {
			return e, true, nil
		}
	}
	all, err := s.Inbox(to)
	for _, m := range all {
		if m.Envelope.ID == id {
			return m.Envelope, true, err
		}
	}
	return e, false, err
}

// Received returns every message to an agent: those that it has got, then those that
// are on their way, as all are that were sent while the session did not run.
func (s *Store) Received(id mailbox.AgentID) ([]mailbox.Trace, error) {
	coming := s.Pending() // first, so that what arrives meanwhile is in both rather than in neither
	all, err := s.Inbox(id)
	return mailbox.AppendPending(all, coming, id), err
}

// Trace returns what the records of this node hold of a message: sent is the sender's
// record, got the receiver's. Each is nil if there is none.
func (s *Store) Trace(id mailbox.ID) (sent, got *mailbox.Trace, err error) {
	m, found, err := s.Sent(id)
	if err != nil {
		return nil, nil, err
	}
	receivers := s.All()
	if found {
		sent = &m
		receivers = slices.DeleteFunc(receivers, func(t *Transcript) bool { return t.ID() != m.Envelope.To.Agent })
	}
	for _, t := range receivers {
		all, err := s.Inbox(t.ID())
		if err != nil {
			return sent, nil, err
		}
		if i := slices.IndexFunc(all, func(x mailbox.Trace) bool { return x.Envelope.ID == id }); i >= 0 {
			return sent, &all[i], nil
		}
	}
	return sent, nil, nil
}
