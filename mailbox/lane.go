package mailbox

import (
	"cmp"
	"slices"
)

// lane is what one sender still owes one receiver. Ledger and Courier both keep
// their outgoing messages in lanes, so that a receipt means the same to both.
type lane struct {
	last    uint64     // highest number given out
	acked   uint64     // nothing up to here is still owed
	said    uint64     // highest mark the receiver has sent
	full    bool       // the receiver takes nothing more for now
	pending []Envelope // neither delivered nor given up, by Seq
}

// change is one message of a lane that got a new state.
type change struct {
	envelope Envelope
	state    State
}

// push adds a message and reports whether it was new. Messages of a Ledger come
// in order; to a Courier two goroutines may bring theirs the wrong way round.
func (l *lane) push(e Envelope) bool {
	i, known := slices.BinarySearchFunc(l.pending, e.Seq, bySeq)
	if known || e.Seq <= l.said {
		return false
	}
	if before := e.Seq - e.Skips - 1; len(l.pending) == 0 && before > l.acked || before < l.acked {
		l.acked = before
	}
	l.last = max(l.last, e.Seq)
	l.pending = slices.Insert(l.pending, i, e)
	return true
}

func bySeq(e Envelope, seq uint64) int { return cmp.Compare(e.Seq, seq) }

// next numbers the message after all others.
func (l *lane) next() (seq, skips uint64) {
	before := l.acked
	if n := len(l.pending); n > 0 {
		before = l.pending[n-1].Seq
	}
	seq = l.last + 1
	return seq, seq - 1 - before
}

// settle applies a receipt and returns what it ended.
func (l *lane) settle(r Receipt) []change {
	through := l.through(r)
	if through < l.said && r.State == StateFull {
		return nil // overtaken by a newer one
	}
	if r.State != StateAccepted {
		l.full = r.State == StateFull
	}
	changed := l.deliver(through)
	if r.State.givesUp() {
		changed = append(changed, l.giveUp(r)...)
	}
	if len(l.pending) == 0 {
		l.pending = nil
	}
	return changed
}

// through is how far the receipt says the receiver got: a message that was read
// was delivered, and with it everything before.
func (l *lane) through(r Receipt) uint64 {
	through := r.Through
	if r.State != StateRead && r.State != StateAnswered {
		return through
	}
	for i := range l.pending {
		if slices.Contains(r.IDs, l.pending[i].ID) {
			through = max(through, l.pending[i].Seq)
		}
	}
	return through
}

func (l *lane) deliver(through uint64) []change {
	n := 0
	for n < len(l.pending) && l.pending[n].Seq <= through {
		n++
	}
	var changed []change
	for _, e := range l.pending[:n] {
		changed = append(changed, change{e, StateDelivered})
	}
	clear(l.pending[:n])
	l.pending = l.pending[n:]
	l.acked = max(l.acked, through)
	l.said = max(l.said, through)
	// A receiver that knows more than this journal outlived a copy of it: numbers
	// it has seen must not be used again, they would be taken for duplicates.
	l.last = max(l.last, through)
	return changed
}

// giveUp takes the receipt's messages out and lets those behind them close the
// hole they leave.
func (l *lane) giveUp(r Receipt) []change {
	var changed []change
	l.pending = slices.DeleteFunc(l.pending, func(e Envelope) bool {
		if !slices.Contains(r.IDs, e.ID) {
			return false
		}
		changed = append(changed, change{e, r.State})
		return true
	})
	if changed == nil {
		return nil
	}
	before := l.acked
	for i := range l.pending {
		e := &l.pending[i]
		e.Skips = e.Seq - before - 1
		before = e.Seq
	}
	return changed
}
