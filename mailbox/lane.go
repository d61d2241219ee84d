package mailbox

import (
	"cmp"
	"slices"
)

// lane holds the messages from one sender to one receiver that are not acknowledged.
// Ledger and Courier both use it, so that a receipt means the same to both.
type lane struct {
	last    uint64     // highest number given to a message
	acked   uint64     // every number up to here is acknowledged or given up
	mark    uint64     // highest mark that the receiver has sent
	full    bool       // the receiver refused the last message because its mailbox is full
	pending []Envelope // neither delivered nor given up, by Seq
}

// change is a message whose state changed.
type change struct {
	envelope Envelope
	state    State
}

// push adds a message and reports whether it is new. A Ledger adds messages in order;
// a Courier may get two of them from two goroutines in the wrong order.
func (l *lane) push(e Envelope) bool {
	i, known := slices.BinarySearchFunc(l.pending, e.Seq, bySeq)
	if known || e.Seq <= l.mark {
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

// next returns the number for a new message, and how many before it are skipped.
func (l *lane) next() (seq, skips uint64) {
	before := l.acked
	if n := len(l.pending); n > 0 {
		before = l.pending[n-1].Seq
	}
	seq = l.last + 1
	return seq, seq - 1 - before
}

// acknowledge applies a receipt and returns the messages that it removed.
func (l *lane) acknowledge(r Receipt) []change {
	through := l.through(r)
	if through < l.mark && r.State == StateFull {
		return nil // a newer receipt overtook it
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

// through returns the highest number that the receipt acknowledges: a message that was
// read was delivered, and so was every message before it.
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
	l.mark = max(l.mark, through)
	// If the receiver knows higher numbers, this journal was restored from an older
	// copy. Those numbers must not be used again: they would count as duplicates.
	l.last = max(l.last, through)
	return changed
}

// giveUp removes the messages that the receipt names, and adds their numbers to Skips
// of the messages after them.
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
