package mailboxtest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/actorswarm/swarm/mailbox"
)

// ErrCrashed is the error of a recorder whose store has crashed since.
var ErrCrashed = errors.New("mailboxtest: the node has crashed")

// Mutation breaks the recorder on purpose, to prove that Verify fails.
type Mutation int

// The mutations.
const (
	NoMutation      Mutation = iota
	AckBeforeRecord          // reports a record as durable without writing it
	NoSequenceCheck          // records every message
	ForgetMarks              // keeps messages but not the marks of their senders
)

// Store is a mailbox.Recorder in memory: a log of which a part is on disk, and the
// ledgers that follow from it. It may be used by several goroutines.
type Store struct {
	// SyncTakes is the duration of a sync; records appended meanwhile share the next
	// one. Set it before use.
	SyncTakes time.Duration
	// Mutation is for tests of the tests. Set it before use.
	Mutation Mutation
	// UnreadLimit is that of every ledger; 0 is mailbox.DefaultLimit. Set it before use.
	UnreadLimit int

	mu         sync.Mutex
	names      []mailbox.AgentID
	ledgers    map[mailbox.AgentID]*mailbox.Ledger
	log        []record
	durable    int // log[:durable] is on disk
	generation int
	dropped    int
	changed    chan struct{} // closed and replaced at each change
}

// record is one entry of the log: one of its parts is set.
type record struct {
	owner   mailbox.AgentID
	sent    *mailbox.Envelope
	arrived *mailbox.Envelope
	cursor  mailbox.Cursor
	read    []mailbox.ID
	receipt *mailbox.Receipt
}

// NewStore returns the store of a node with these agents.
func NewStore(agents ...mailbox.AgentID) *Store {
	s := &Store{names: agents, changed: make(chan struct{})}
	s.refold()
	return s
}

func (s *Store) refold() {
	s.ledgers = make(map[mailbox.AgentID]*mailbox.Ledger)
	for _, a := range s.names {
		s.ledgers[a] = mailbox.NewLedger(a)
	}
	for _, r := range s.log {
		s.fold(r)
	}
}

func (s *Store) fold(r record) {
	l := s.ledgers[r.owner]
	switch {
	case r.sent != nil:
		l.Sent(*r.sent)
	case r.arrived != nil:
		l.Arrived(*r.arrived, r.cursor)
	case r.receipt != nil:
		l.Acknowledged(*r.receipt)
	default:
		l.Read(r.read...)
	}
}

func (s *Store) append(r record) int {
	s.log = append(s.log, r)
	s.fold(r)
	s.notify()
	return len(s.log)
}

func (s *Store) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Changed returns a channel that is closed at the next change of the store.
func (s *Store) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// sync returns when log[:n] is on disk, or with ErrCrashed.
func (s *Store) sync(generation, n int) error {
	s.mu.Lock()
	takes, done := s.SyncTakes, s.durable >= n || generation != s.generation
	s.mu.Unlock()
	if takes > 0 && !done {
		<-time.After(takes)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if generation != s.generation {
		return ErrCrashed
	}
	s.durable = max(s.durable, n)
	s.notify()
	return nil
}

// Compose appends the intent to send a message without waiting for the disk. The
// message must not be sent before Sync.
func (s *Store) Compose(from, to mailbox.AgentID, body string) (mailbox.Envelope, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.ledgers[from]
	if l == nil {
		return mailbox.Envelope{}, fmt.Errorf("mailboxtest: %s is an agent of another node", from)
	}
	e, err := l.Compose(mailbox.Envelope{
		From: mailbox.Address{Agent: from, Incarnation: 1}, To: mailbox.Address{Agent: to},
		Kind: mailbox.KindText, Sent: time.Now(), Body: body,
	}, 0)
	if err == nil {
		s.append(record{owner: from, sent: &e})
	}
	return e, err
}

// Accept is Compose and Sync.
func (s *Store) Accept(from, to mailbox.AgentID, body string) (mailbox.Envelope, error) {
	e, err := s.Compose(from, to, body)
	if err != nil {
		return e, err
	}
	return e, s.Sync()
}

// Sync waits until everything appended is on disk.
func (s *Store) Sync() error {
	s.mu.Lock()
	generation, n := s.generation, len(s.log)
	s.mu.Unlock()
	return s.sync(generation, n)
}

// Read records that an agent has read all its mail and returns the receipts for
// it, one for each sender.
func (s *Store) Read(agent mailbox.AgentID) []mailbox.Receipt {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.ledgers[agent]
	if l == nil {
		return nil
	}
	unread := l.Unread()
	if len(unread) == 0 {
		return nil
	}
	byFrom := make(map[mailbox.Address][]mailbox.ID)
	var all []mailbox.ID
	for _, e := range unread {
		byFrom[e.From] = append(byFrom[e.From], e.ID)
		all = append(all, e.ID)
	}
	s.append(record{owner: agent, read: all})
	s.durable = len(s.log)
	var out []mailbox.Receipt
	froms := slices.SortedFunc(maps.Keys(byFrom), func(a, b mailbox.Address) int { return cmp.Compare(a.Agent, b.Agent) })
	for _, from := range froms {
		out = append(out, mailbox.Receipt{
			From: mailbox.Address{Agent: agent, Incarnation: 1}, To: from,
			State: mailbox.StateRead, Through: l.Mark(from.Agent), IDs: byFrom[from],
		})
	}
	return out
}

// Crash ends this generation of the store: its recorders return ErrCrashed, and of what
// was not synced only the first keep records survive. It returns how many were dropped.
func (s *Store) Crash(keep int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.generation++
	n := min(len(s.log), s.durable+keep)
	dropped := len(s.log) - n
	s.log = slices.Clip(s.log[:n])
	s.durable = n
	s.dropped += dropped
	s.refold()
	s.notify()
	return dropped
}

// Dropped returns how many records all crashes together have dropped.
func (s *Store) Dropped() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// Cursor returns the position of the stream at the node's last recorded arrival.
func (s *Store) Cursor() mailbox.Cursor {
	s.mu.Lock()
	defer s.mu.Unlock()
	var newest mailbox.Cursor
	for _, l := range s.ledgers {
		if c := l.Cursor(); c.Compare(newest) > 0 {
			newest = c
		}
	}
	return newest
}

// Pending returns the outboxes of all agents.
func (s *Store) Pending() []mailbox.Envelope {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []mailbox.Envelope
	for _, a := range s.names {
		out = append(out, s.ledgers[a].Outbox()...)
	}
	return out
}

// Sent returns every message that an agent of this node intended to send, in order.
func (s *Store) Sent(from mailbox.AgentID) []mailbox.Envelope {
	return s.collect(from, func(r record) *mailbox.Envelope { return r.sent })
}

// Transcript returns every message recorded for an agent, in order.
func (s *Store) Transcript(agent mailbox.AgentID) []mailbox.Envelope {
	return s.collect(agent, func(r record) *mailbox.Envelope { return r.arrived })
}

func (s *Store) collect(owner mailbox.AgentID, part func(record) *mailbox.Envelope) []mailbox.Envelope {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []mailbox.Envelope
	for _, r := range s.log {
		if e := part(r); e != nil && r.owner == owner {
			out = append(out, *e)
		}
	}
	return out
}

// State returns the state of a message that the node sent.
func (s *Store) State(id mailbox.ID) mailbox.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.ledgers {
		if status, ok := l.State(id); ok {
			return status
		}
	}
	return mailbox.Status{}
}

// Recorder returns the mailbox.Recorder of the current generation.
func (s *Store) Recorder() mailbox.Recorder {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &recorder{store: s, generation: s.generation}
}

type recorder struct {
	store      *Store
	generation int
}

func (r *recorder) Arrive(e mailbox.Envelope, c mailbox.Cursor) (mailbox.Arrival, error) {
	s := r.store
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.ledgers[e.To.Agent]
	switch {
	case r.generation != s.generation:
		return mailbox.Arrival{}, ErrCrashed
	case l == nil:
		return mailbox.Arrival{}, mailbox.ErrNotLocal
	}
	l.SetUnreadLimit(s.UnreadLimit)
	verdict := s.verdict(l, e)
	if verdict != mailbox.Fresh {
		return mailbox.Arrival{Verdict: verdict, Through: l.Mark(e.From.Agent)}, nil
	}
	n := s.append(record{owner: e.To.Agent, arrived: &e, cursor: c})
	a := mailbox.Arrival{Verdict: verdict, Through: l.Mark(e.From.Agent)}
	a.Durable = func() error { return s.sync(r.generation, n) }
	if s.Mutation == AckBeforeRecord {
		a.Durable = func() error { return nil }
	}
	return a, nil
}

func (s *Store) verdict(l *mailbox.Ledger, e mailbox.Envelope) mailbox.Verdict {
	v := l.Check(e)
	switch {
	case s.Mutation == NoSequenceCheck && (v == mailbox.Gap || v == mailbox.Duplicate),
		s.Mutation == ForgetMarks && v == mailbox.Duplicate:
		return mailbox.Fresh
	}
	return v
}

// Acknowledge records a receipt if it changes a state.
func (r *recorder) Acknowledge(receipt mailbox.Receipt) {
	s := r.store
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.ledgers[receipt.To.Agent]
	if l == nil || r.generation != s.generation {
		return
	}
	if len(l.Acknowledged(receipt)) > 0 {
		s.log = append(s.log, record{owner: receipt.To.Agent, receipt: &receipt})
	}
	s.notify()
}
