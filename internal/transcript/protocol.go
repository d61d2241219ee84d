package transcript

import (
	"time"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/team/protocol"
)

// protocolMeta is the state of a protocol after an event. A content block with it is for
// the agent: it opens a turn and is part of the next request, so that state and wake are
// on disk together or not at all.
type protocolMeta struct {
	Time     time.Time          `json:"t"`
	Shutdown *protocol.Shutdown `json:"shutdown,omitempty"`
	Plan     *protocol.Plan     `json:"plan,omitempty"`
	Notifies bool               `json:"tells,omitempty"`
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
	if m.Notifies {
		s.Unread = true
		s.open(m.Time)
	}
}

// ShutdownNext applies an event to the agent's shutdown. If the agent must see the new
// state, message returns the text that becomes part of its next request. ShutdownNext
// returns when the state is on disk.
func (t *Transcript) ShutdownNext(e protocol.ShutdownEvent, message func(protocol.Shutdown) string) (protocol.Shutdown, protocol.Effect, error) {
	t.mu.Lock()
	was := t.state.Shutdown
	now, effect, err := was.Next(e)
	if err != nil || now == was {
		t.mu.Unlock()
		return now, effect, err
	}
	text := ""
	if effect == protocol.Show && !t.state.Closed {
		text = message(now)
	}
	ticket, err := t.addProtocol(&protocolMeta{Shutdown: &now}, text)
	t.mu.Unlock()
	return now, effect, wait(ticket, err)
}

// PlanNext applies an event to the agent's plan mode, like ShutdownNext. An approval gives
// the agent the permission mode of the state.
func (t *Transcript) PlanNext(e protocol.PlanEvent, message func(protocol.Plan) string) (protocol.Plan, protocol.Effect, error) {
	t.mu.Lock()
	was := t.state.Plan
	now, effect, err := was.Next(e)
	if err != nil || now == was {
		t.mu.Unlock()
		return now, effect, err
	}
	text := ""
	if effect == protocol.ShowDecision && message != nil {
		text = message(now)
	}
	ticket, err := t.addProtocol(&protocolMeta{Plan: &now}, text)
	t.mu.Unlock()
	return now, effect, wait(ticket, err)
}

// addProtocol records a state and the text about it for the agent. mu is held.
func (t *Transcript) addProtocol(m *protocolMeta, text string) (journal.Ticket, error) {
	m.Time = time.Now()
	var raw []byte
	if text != "" {
		m.Notifies, raw = true, model.Text(text).AppendJSON(nil)
	}
	return t.add(kindProtocol, m, raw)
}
