package stream

import (
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/actorswarm/swarm/mailbox"
)

// mailLine shows the state of a message between agents.
type mailLine struct {
	line
	ID      mailbox.ID    `json:"id"`
	From    string        `json:"from"`
	To      string        `json:"to"`
	Kind    mailbox.Kind  `json:"kind"`
	State   mailbox.State `json:"state"`
	Summary string        `json:"summary,omitempty"`
}

func (s *Writer) mailFact(f event.Fact) {
	switch f := f.(type) {
	case event.MailSent:
		s.writeMail(f.Envelope, mailbox.StateAccepted)
	case event.MailArrived:
		s.writeMail(f.Envelope, mailbox.StateDelivered)
	case event.MailStateChanged:
		for _, id := range f.IDs {
			s.writeReceipt(id, f.State)
		}
	}
}

func (s *Writer) writeMail(e mailbox.Envelope, state mailbox.State) {
	m := mailLine{
		line: s.head("system", "mail"), ID: e.ID, From: view.AgentName(e.From.Agent, e.FromName),
		To: view.AgentName(e.To.Agent, e.ToName), Kind: e.Kind, State: state, Summary: e.Summary,
	}
	s.mail[e.ID] = m
	s.write(m)
}

// writeReceipt writes a receipt. It leaves out the receipt of a delivery, which repeats
// the arrival.
func (s *Writer) writeReceipt(id mailbox.ID, state mailbox.State) {
	m, known := s.mail[id]
	if !known || state == m.State {
		return
	}
	m.line, m.State = s.head("system", "mail"), state
	s.mail[id] = m
	if state.Final() {
		delete(s.mail, id)
	}
	s.write(m)
}
