package mailbox

import "slices"

// maxHistory is how many acknowledged messages a Ledger remembers.
const maxHistory = 1000

// history holds the states of an agent's last acknowledged messages.
type history struct {
	byID  map[ID]Status
	order []ID // oldest first
}

func (s *history) add(e Envelope, state State, reason string) {
	if _, known := s.byID[e.ID]; !known {
		s.order = append(s.order, e.ID)
	}
	if !state.givesUp() {
		reason = ""
	}
	s.byID[e.ID] = Status{To: e.To, Seq: e.Seq, State: state, Reason: reason}
	if n := len(s.order) - maxHistory; n > 0 {
		for _, id := range s.order[:n] {
			delete(s.byID, id)
		}
		s.order = slices.Delete(s.order, 0, n)
	}
}

// advance advances the state of one message and reports whether it changed.
func (s *history) advance(id ID, r Receipt) bool {
	was, known := s.byID[id]
	if !known || was.To.Agent != r.From.Agent || r.State.rank() <= was.State.rank() {
		return false
	}
	was.State, was.Reason = r.State, r.Reason
	s.byID[id] = was
	return true
}
