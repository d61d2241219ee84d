package mailbox

import (
	"slices"
	"time"
)

// maxSilence bounds how long a courier waits between two tries.
const maxSilence = 15 * time.Second

type pair struct{ from, to AgentID }

// flow sends one lane: a window of messages ahead of the receiver's mark, and
// back to the mark when something got lost. Guarded by outgoing.mu.
type flow struct {
	lane
	handed   uint64    // last Seq given to the transport since the flow last went back
	window   int       // how many may be ahead of the mark
	silences int       // waits in a row that ended without progress
	due      time.Time // when the next wait ends; zero when nothing is out
	asked    uint64    // the mark for which the receiver last asked to go back, plus one
	probe    bool      // one message may go out although the receiver is full
	queued   bool      // in outgoing.ready
}

func (f *flow) ahead() int {
	i, _ := slices.BinarySearchFunc(f.pending, f.handed+1, bySeq)
	return i
}

func (f *flow) ready() bool {
	ahead := f.ahead()
	if ahead == len(f.pending) {
		return false
	}
	if f.full {
		return f.probe
	}
	return ahead < f.window
}

// take returns the next message; ready must have said yes.
func (f *flow) take(now time.Time, patience time.Duration) Envelope {
	e := f.pending[f.ahead()]
	f.handed = e.Seq
	f.probe = false
	if f.due.IsZero() {
		f.due = now.Add(patience)
	}
	return e
}

func (f *flow) goBack() { f.handed = f.acked }

// silent ends a wait without an answer. Only one message goes out until there is
// one: with the receiver away for hours, a whole window each time would fill the
// stream with copies.
func (f *flow) silent(now time.Time, patience time.Duration) {
	f.goBack()
	f.window, f.probe = 1, true
	f.silences++
	wait := max(patience, maxSilence)
	if f.silences < 16 {
		wait = min(wait, patience<<(f.silences-1))
	}
	f.due = now.Add(wait)
}

// settle applies a receipt and returns how many messages the receiver has
// acknowledged before and no longer knows.
func (f *flow) settle(r Receipt, now time.Time, window int, patience time.Duration) (lost uint64) {
	acked, wasFull := f.acked, f.full
	changed := f.lane.settle(r)
	progress := f.acked > acked
	switch {
	case f.full:
		f.goBack()
		f.restart(progress, now, patience)
		return 0
	case wasFull, r.State.givesUp() && len(changed) > 0:
		f.goBack() // the rest was refused, or says now that it follows a hole
	case r.State == StateRead && f.silences > 0:
		f.goBack() // it may have been silent because it was full
	case r.State == StateAccepted && f.asked != r.Through+1:
		f.asked = r.Through + 1 // once for each mark: the whole window asks
		f.goBack()
		lost = f.bridge(r.Through)
	case !progress:
		return 0
	}
	f.handed = max(f.handed, f.acked)
	f.window = window
	f.restart(true, now, patience)
	return lost
}

// bridge lets the next message follow mark although others were in between, when
// the receiver has acknowledged those: it has lost them, and nobody can send them
// again. A receipt that was merely late does no harm, its receiver is past the
// bridge.
func (f *flow) bridge(mark uint64) uint64 {
	if mark >= f.said || len(f.pending) == 0 || f.acked > f.said {
		return 0
	}
	first := &f.pending[0]
	first.Skips = max(first.Skips, first.Seq-1-mark)
	return f.said - mark
}

// restart begins a new wait if something is out, and counts from none.
func (f *flow) restart(anew bool, now time.Time, patience time.Duration) {
	if anew {
		f.silences = 0
		f.due = now.Add(patience)
	}
	if len(f.pending) == 0 {
		f.due = time.Time{}
	}
}
