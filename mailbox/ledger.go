package mailbox

import (
	"fmt"
	"maps"
	"slices"
)

// DefaultLimit is how many messages one sender may have unsettled with one
// receiver, and how many unread ones a receiver holds of one sender.
const DefaultLimit = 256

// FullError says that To takes no more messages of this sender for now: Queued
// are on their way or waiting, and nothing was queued in addition.
type FullError struct {
	To     Address
	Queued int
}

func (e *FullError) Error() string {
	return fmt.Sprintf("the mailbox of %s is full: %d messages of yours wait there; go on with other work and write again when it has read some", e.To.Agent, e.Queued)
}

// Ledger is the mail side of one agent's transcript as pure state: no input or
// output, no clock, no lock. Its owner guards it, and folds into it what the
// journal records, in the journal's order: Sent, Arrived, Read and Settled. The
// same records give the same ledger, so it never needs to be stored, and may be,
// as a snapshot.
type Ledger struct {
	owner   AgentID
	limit   int               // unread messages of one sender; 0 is DefaultLimit
	out     map[AgentID]*lane // by receiver
	in      map[AgentID]*mark // by sender
	unread  []Envelope        // in order of arrival
	settled *settled
	cursor  Cursor
}

// mark is what a receiver remembers of one sender for ever.
type mark struct {
	seq         uint64 // everything up to here is recorded
	incarnation uint32 // highest heard of
	unread      int
}

// NewLedger returns the ledger of an agent that never sent or got anything.
func NewLedger(owner AgentID) *Ledger { return &Ledger{owner: owner} }

// SetUnreadLimit sets how many unread messages of one sender Check lets in;
// 0 is DefaultLimit. It is a setting, not part of the fold.
func (l *Ledger) SetUnreadLimit(n int) { l.limit = n }

// Compose checks e and numbers it: the next Seq for its receiver, an ID when it
// has none, Sent without a monotonic reading. It changes nothing; the message
// exists once its intent is recorded and folded with Sent, and until then a
// second Compose gives the same number. It answers *FullError when limit
// messages (0 is DefaultLimit) to that receiver are unsettled or the receiver
// said that it is full, *TooLargeError, or what else Validate finds.
func (l *Ledger) Compose(e Envelope, limit int) (Envelope, error) {
	if e.From.Agent != l.owner {
		return Envelope{}, fmt.Errorf("mailbox: %s cannot send in the name of %q", l.owner, e.From.Agent)
	}
	if err := l.Room(e.To, limit); err != nil {
		return Envelope{}, err
	}
	if e.ID == "" {
		e.ID = NewID()
	}
	e.Seq, e.Skips = l.laneTo(e.To.Agent).next()
	e.Sent = e.Sent.Round(0).UTC()
	return e, e.Validate()
}

// Room answers *FullError as Compose would for a message to an agent.
func (l *Ledger) Room(to Address, limit int) error {
	if limit <= 0 {
		limit = DefaultLimit
	}
	// With nothing pending nobody would ask again whether there is room.
	x := l.laneTo(to.Agent)
	if n := len(x.pending); x.full && n > 0 || n >= limit {
		return &FullError{To: to, Queued: n}
	}
	return nil
}

// laneTo is what is known of the way to a receiver; for reading only.
func (l *Ledger) laneTo(to AgentID) *lane {
	if x := l.out[to]; x != nil {
		return x
	}
	return &lane{}
}

// Sent folds that the intent to send e was recorded.
func (l *Ledger) Sent(e Envelope) {
	if l.out == nil {
		l.out = make(map[AgentID]*lane)
	}
	to := l.out[e.To.Agent]
	if to == nil {
		to = &lane{}
		l.out[e.To.Agent] = to
	}
	to.push(e)
}

// Check says what to do with an arriving message; it changes nothing. What was
// recorded is a Duplicate whoever sends it again; only then does the sender's
// incarnation count.
func (l *Ledger) Check(e Envelope) Verdict {
	m := l.in[e.From.Agent]
	if m == nil {
		m = &mark{}
	}
	switch {
	case e.Seq <= m.seq:
		return Duplicate
	case e.From.Incarnation < m.incarnation:
		return Stale
	case m.unread >= l.unreadLimit():
		// Before Gap: what follows a refused message must not call for it again.
		return Full
	case e.Seq-e.Skips > m.seq+1:
		return Gap
	}
	return Fresh
}

func (l *Ledger) unreadLimit() int {
	if l.limit <= 0 {
		return DefaultLimit
	}
	return l.limit
}

// Superseded returns the unread messages whose place e takes when it is folded.
func (l *Ledger) Superseded(e Envelope) []ID {
	var ids []ID
	for i := range l.unread {
		if e.supersedes(&l.unread[i]) {
			ids = append(ids, l.unread[i].ID)
		}
	}
	return ids
}

func (e *Envelope) supersedes(old *Envelope) bool {
	return e.Key != "" && e.Key == old.Key && e.From.Agent == old.From.Agent && e.Kind == old.Kind
}

// Arrived folds that e was recorded when the stream was at c: the mark of its
// sender moves, e is unread, what it supersedes never will be read, and what it
// replies to is answered.
func (l *Ledger) Arrived(e Envelope, c Cursor) {
	if l.in == nil {
		l.in = make(map[AgentID]*mark)
	}
	m := l.in[e.From.Agent]
	if m == nil {
		m = &mark{}
		l.in[e.From.Agent] = m
	}
	m.seq = max(m.seq, e.Seq)
	m.incarnation = max(m.incarnation, e.From.Incarnation)
	if stale := l.Superseded(e); len(stale) > 0 {
		l.Read(stale...)
	}
	m.unread++
	l.unread = append(l.unread, e)
	l.cursor = c
	if e.InReplyTo != "" {
		l.Settled(Receipt{From: e.From, To: e.To, State: StateAnswered, IDs: []ID{e.InReplyTo}})
	}
}

// Read folds that these messages are part of a recorded model request. Ids that
// are not unread are ignored.
func (l *Ledger) Read(ids ...ID) {
	l.unread = slices.DeleteFunc(l.unread, func(e Envelope) bool {
		if !slices.Contains(ids, e.ID) {
			return false
		}
		l.in[e.From.Agent].unread--
		return true
	})
	if len(l.unread) == 0 {
		l.unread = nil
	}
}

// Settled folds a receipt: it drops the outbox through r.Through, gives up what
// a final state names, and moves states on, never back. It returns the ids whose
// state changed; a receipt that returns none need not be recorded. A receiver
// is believed only about messages that were sent to it.
func (l *Ledger) Settled(r Receipt) []ID {
	if r.To.Agent != l.owner {
		return nil
	}
	var ids []ID
	if to := l.out[r.From.Agent]; to != nil {
		for _, c := range to.settle(r) {
			l.history().add(c.envelope, c.state, r.Reason)
			ids = append(ids, c.envelope.ID)
		}
	}
	for _, id := range r.IDs {
		if l.settled != nil && l.settled.raise(id, r) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (l *Ledger) history() *settled {
	if l.settled == nil {
		l.settled = &settled{byID: make(map[ID]Status)}
	}
	return l.settled
}

// Unread returns what arrived and was not read, in order of arrival.
func (l *Ledger) Unread() []Envelope { return slices.Clone(l.unread) }

// Outbox returns what was sent and is unsettled: pair by pair in sending order.
func (l *Ledger) Outbox() []Envelope {
	var out []Envelope
	for _, to := range slices.Sorted(maps.Keys(l.out)) {
		out = append(out, l.out[to].pending...)
	}
	return out
}

// Mark returns the highest recorded number of a sender.
func (l *Ledger) Mark(from AgentID) uint64 {
	if m := l.in[from]; m != nil {
		return m.seq
	}
	return 0
}

// Cursor returns where the stream was at the last recorded arrival. The cursor
// of a node is the highest of its ledgers.
func (l *Ledger) Cursor() Cursor { return l.cursor }

// State returns what is known of a message this agent sent: each unsettled one
// and the last 1,000 settled.
func (l *Ledger) State(id ID) (Status, bool) {
	if l.settled != nil {
		if s, ok := l.settled.byID[id]; ok {
			return s, true
		}
	}
	for _, to := range l.out {
		for i := range to.pending {
			if e := &to.pending[i]; e.ID == id {
				return Status{To: e.To, Seq: e.Seq, State: StateAccepted}, true
			}
		}
	}
	return Status{}, false
}
