package mailbox

import (
	"fmt"
	"maps"
	"slices"
)

// DefaultLimit is how many unacknowledged messages one sender may have with one
// receiver, and how many unread messages of one sender a receiver holds.
const DefaultLimit = 256

// FullError reports that To has too many unacknowledged messages of this sender. Queued
// messages are on their way or unread; the new one was not queued.
type FullError struct {
	To     Address
	Queued int
}

func (e *FullError) Error() string {
	return fmt.Sprintf("the mailbox of %s is full: %d messages of yours wait there; go on with other work and write again when it has read some", e.To.Agent, e.Queued)
}

// Ledger is the mail state of one agent: what it sent and received, and what was
// acknowledged. It is pure state, without input or output, clock or lock; its owner guards
// it and applies the records of the journal in their order with Sent, Arrived, Read and
// Acknowledged. The same records give the same ledger, so that it need not be stored;
// AppendSnapshot and Restore only save time.
type Ledger struct {
	owner   AgentID
	limit   int               // unread messages of one sender; 0 is DefaultLimit
	out     map[AgentID]*lane // by receiver
	in      map[AgentID]*mark // by sender
	unread  []Envelope        // in order of arrival
	history *history
	cursor  Cursor
}

// mark is what a receiver remembers of one sender.
type mark struct {
	seq         uint64 // everything up to here is recorded
	incarnation uint32 // highest one seen
	unread      int
}

// NewLedger returns the ledger of an agent that has sent and received nothing.
func NewLedger(owner AgentID) *Ledger { return &Ledger{owner: owner} }

// SetUnreadLimit sets how many unread messages of one sender Check allows; 0 is
// DefaultLimit. The limit is a setting and not part of the state.
func (l *Ledger) SetUnreadLimit(n int) { l.limit = n }

// Compose validates e and completes it: the next Seq for its receiver, an ID when it
// has none, Sent without a monotonic reading. It does not change the ledger; the message
// exists once its intent is recorded and applied with Sent, and until then a second
// Compose gives the same number. It returns *FullError when limit messages (0 is
// DefaultLimit) to that receiver are unacknowledged or the receiver reported that it is
// full, *TooLargeError, or another error of Validate.
func (l *Ledger) Compose(e Envelope, limit int) (Envelope, error) {
	if e.From.Agent != l.owner {
		return Envelope{}, fmt.Errorf("mailbox: %s cannot send in the name of %q", l.owner, e.From.Agent)
	}
	if err := l.CheckRoom(e.To, limit); err != nil {
		return Envelope{}, err
	}
	if e.ID == "" {
		e.ID = NewID()
	}
	e.Seq, e.Skips = l.laneTo(e.To.Agent).next()
	e.Sent = e.Sent.Round(0).UTC()
	return e, e.Validate()
}

// CheckRoom returns the *FullError that Compose would return for a message to an agent.
func (l *Ledger) CheckRoom(to Address, limit int) error {
	if limit <= 0 {
		limit = DefaultLimit
	}
	// With nothing pending, no receipt would report that there is room again.
	x := l.laneTo(to.Agent)
	if n := len(x.pending); x.full && n > 0 || n >= limit {
		return &FullError{To: to, Queued: n}
	}
	return nil
}

// laneTo returns the lane to a receiver, for reading only.
func (l *Ledger) laneTo(to AgentID) *lane {
	if x := l.out[to]; x != nil {
		return x
	}
	return &lane{}
}

// Sent applies the record of the intent to send e.
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

// Check decides about an arriving message; it does not change the ledger. A recorded
// message is a Duplicate whatever incarnation sends it again.
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
		// Before Gap: messages after a refused one must not request it again.
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

// Superseded returns the unread messages that e replaces when it is applied.
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

// Arrived applies the record of e, which arrived when the stream was at c: it advances
// the mark of the sender, makes e unread, drops what e supersedes, and marks what e
// replies to as answered.
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
		l.Acknowledged(Receipt{From: e.From, To: e.To, State: StateAnswered, IDs: []ID{e.InReplyTo}})
	}
}

// Read applies the record of a model request that contains these messages. It ignores
// ids that are not unread.
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

// Acknowledged applies a receipt: it removes messages through r.Through from the outbox
// and those that a final state names, and advances states. It returns the ids whose state
// changed; a receipt that returns none need not be recorded. It ignores what a receiver
// reports about messages to others.
func (l *Ledger) Acknowledged(r Receipt) []ID {
	if r.To.Agent != l.owner {
		return nil
	}
	var ids []ID
	if to := l.out[r.From.Agent]; to != nil {
		for _, c := range to.acknowledge(r) {
			l.ensureHistory().add(c.envelope, c.state, r.Reason)
			ids = append(ids, c.envelope.ID)
		}
	}
	for _, id := range r.IDs {
		if l.history != nil && l.history.advance(id, r) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (l *Ledger) ensureHistory() *history {
	if l.history == nil {
		l.history = &history{byID: make(map[ID]Status)}
	}
	return l.history
}

// Unread returns the unread messages in order of arrival.
func (l *Ledger) Unread() []Envelope { return slices.Clone(l.unread) }

// Outbox returns the unacknowledged messages, by receiver and in sending order.
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

// Cursor returns the position of the stream at the last recorded arrival. The cursor
// of a node is the highest of its ledgers.
func (l *Ledger) Cursor() Cursor { return l.cursor }

// State returns the state of a message that this agent sent: of each unacknowledged one
// and of the last 1,000 others.
func (l *Ledger) State(id ID) (Status, bool) {
	if l.history != nil {
		if s, ok := l.history.byID[id]; ok {
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
