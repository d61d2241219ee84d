package transcript

import (
	"time"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/team/protocol"
)

// protocolMeta is the state of a protocol after an event, with a content block
// if the agent is to be told: it opens a turn then and is part of the next
// request, so that state and wake are on disk together or not at all.
type protocolMeta struct {
	Time     time.Time          `json:"t"`
	Shutdown *protocol.Shutdown `json:"shutdown,omitempty"`
	Plan     *protocol.Plan     `json:"plan,omitempty"`
	Tells    bool               `json:"tells,omitempty"`
}

func (s *state) applyProtocol(m *protocolMeta) {
	s.Active = m.Time
	if m.Shutdown != nil {
		s.Shutdown = *m.Shutdown
	}
	if m.Plan != nil {
		if m.Plan.Phase == protocol.PlanApproved && m.Plan.Mode != "" {
			s.Spec.Mode = m.Plan.Mode
		}
		s.Plan = *m.Plan
	}
	if m.Tells {
		s.Told = true
		s.open(m.Time)
	}
}

// ShutdownNext moves the agent's shutdown on. What tell returns of a new state
// that is to be shown becomes part of the agent's next request. It returns when
// that is on disk.
func (t *Transcript) ShutdownNext(e protocol.ShutdownEvent, tell func(protocol.Shutdown) string) (protocol.Shutdown, protocol.Effect, error) {
	t.mu.Lock()
	was := t.state.Shutdown
	now, effect, err := was.Next(e)
	if err != nil || now == was {
		t.mu.Unlock()
		return now, effect, err
	}
	text := ""
	if effect == protocol.Show && !t.state.Closed {
		text = tell(now)
	}
	ticket, err := t.addProtocol(&protocolMeta{Shutdown: &now}, text)
	t.mu.Unlock()
	return now, effect, wait(ticket, err)
}

// PlanNext moves the agent's plan mode on, like ShutdownNext. With an approval
// the agent's permission mode becomes that of the state.
func (t *Transcript) PlanNext(e protocol.PlanEvent, tell func(protocol.Plan) string) (protocol.Plan, protocol.Effect, error) {
	t.mu.Lock()
	was := t.state.Plan
	now, effect, err := was.Next(e)
	if err != nil || now == was {
		t.mu.Unlock()
		return now, effect, err
	}
	text := ""
	if effect == protocol.TellAsker && tell != nil {
		text = tell(now)
	}
	ticket, err := t.addProtocol(&protocolMeta{Plan: &now}, text)
	t.mu.Unlock()
	return now, effect, wait(ticket, err)
}

// addProtocol records a state and what the agent is told of it. mu is held.
func (t *Transcript) addProtocol(m *protocolMeta, text string) (journal.Ticket, error) {
	m.Time = time.Now()
	var raw []byte
	if text != "" {
		m.Tells, raw = true, model.Text(text).AppendJSON(nil)
	}
	return t.add(kindProtocol, m, raw)
}
