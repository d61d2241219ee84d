package mailbox

import (
	"slices"
	"time"
)

// maxResendDelay bounds the time between two attempts.
const maxResendDelay = 15 * time.Second

type pair struct{ from, to AgentID }

// flow sends the messages of one lane: a window of them ahead of the receiver's mark,
// and again from the mark when one is lost. It is guarded by outgoing.mu.
type flow struct {
	lane
	published uint64    // last Seq given to the transport since the last rewind
	window    int       // how many messages may be ahead of the mark
	timeouts  int       // consecutive waits that ended without progress
	due       time.Time // when the current wait ends; zero when nothing is pending
	gapMark   uint64    // mark of the last gap that the receiver reported, plus one
	probe     bool      // one message may be sent although the receiver is full
	queued    bool      // in outgoing.ready
}

func (f *flow) ahead() int {
	i, _ := slices.BinarySearchFunc(f.pending, f.published+1, bySeq)
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

// next returns the next message to send; the caller has checked ready.
func (f *flow) next(now time.Time, resendAfter time.Duration) Envelope {
	e := f.pending[f.ahead()]
	f.published = e.Seq
	f.probe = false
	if f.due.IsZero() {
		f.due = now.Add(resendAfter)
	}
	return e
}

func (f *flow) rewind() { f.published = f.acked }

// timeout ends a wait without an answer. From then on the flow sends one message at a
// time until it gets one: while a receiver is away for hours, a whole window each time
// would fill the stream with copies.
func (f *flow) timeout(now time.Time, resendAfter time.Duration) {
	f.rewind()
	f.window, f.probe = 1, true
	f.timeouts++
	wait := max(resendAfter, maxResendDelay)
	if f.timeouts < 16 {
		wait = min(wait, resendAfter<<(f.timeouts-1))
	}
	f.due = now.Add(wait)
}

// acknowledge applies a receipt and returns how many messages the receiver acknowledged
// earlier and has lost since.
func (f *flow) acknowledge(r Receipt, now time.Time, window int, resendAfter time.Duration) (lost uint64) {
	acked, wasFull := f.acked, f.full
	changed := f.lane.acknowledge(r)
	progress := f.acked > acked
	switch {
	case f.full:
		f.rewind()
		f.restart(progress, now, resendAfter)
		return 0
	case wasFull, r.State.givesUp() && len(changed) > 0:
		f.rewind() // the rest was refused, or has a larger Skips now
	case r.State == StateRead && f.timeouts > 0:
		f.rewind() // a full receiver may not have answered
	case r.State == StateAccepted && f.gapMark != r.Through+1:
		f.gapMark = r.Through + 1 // once for each mark: every message of the window reports the gap
		f.rewind()
		lost = f.skipLost(r.Through)
	case !progress:
		return 0
	}
	f.published = max(f.published, f.acked)
	f.window = window
	f.restart(true, now, resendAfter)
	return lost
}

// skipLost raises Skips of the first pending message, so that it may follow mark, when
// the receiver has acknowledged and then lost the messages between: they cannot be sent
// again. A receipt that was merely late does no harm, since its receiver has a higher
// mark.
func (f *flow) skipLost(mark uint64) uint64 {
	if mark >= f.mark || len(f.pending) == 0 || f.acked > f.mark {
		return 0
	}
	first := &f.pending[0]
	first.Skips = max(first.Skips, first.Seq-1-mark)
	return f.mark - mark
}

// restart begins a new wait after progress, and ends it when nothing is pending.
func (f *flow) restart(progressed bool, now time.Time, resendAfter time.Duration) {
	if progressed {
		f.timeouts = 0
		f.due = now.Add(resendAfter)
	}
	if len(f.pending) == 0 {
		f.due = time.Time{}
	}
}
