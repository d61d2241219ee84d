package mailbox

import "slices"

// settledKept is how many ended messages Ledger.State still knows.
const settledKept = 1000

// settled remembers the end of an agent's last messages.
type settled struct {
	byID  map[ID]Status
	order []ID // oldest first
}

func (s *settled) add(e Envelope, state State, reason string) {
	if _, known := s.byID[e.ID]; !known {
		s.order = append(s.order, e.ID)
	}
	if !state.givesUp() {
		reason = ""
	}
	s.byID[e.ID] = Status{To: e.To, Seq: e.Seq, State: state, Reason: reason}
	if n := len(s.order) - settledKept; n > 0 {
		for _, id := range s.order[:n] {
			delete(s.byID, id)
		}
		s.order = slices.Delete(s.order, 0, n)
	}
}

// raise moves one message on to the receipt's state and reports whether it did.
func (s *settled) raise(id ID, r Receipt) bool {
	was, known := s.byID[id]
	if !known || was.To.Agent != r.From.Agent || r.State.rank() <= was.State.rank() {
		return false
	}
	was.State, was.Reason = r.State, r.Reason
	s.byID[id] = was
	return true
}
