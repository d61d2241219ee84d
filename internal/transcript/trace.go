package transcript

import (
	"slices"

	"github.com/actorswarm/swarm/mailbox"
)

// Received returns every message to an agent: what it has got, then what is still
// on its way, as everything is that comes while the session does not run.
func (s *Store) Received(id mailbox.AgentID) ([]mailbox.Trace, error) {
	coming := s.Pending() // first: what arrives meanwhile is then in both, and not in neither
	all, err := s.Inbox(id)
	return mailbox.WithPending(all, coming, id), err
}

// Trace returns what the records here say of a message as its sender's and as its
// receiver's; nil is nothing.
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
