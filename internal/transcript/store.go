package transcript

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/object"
	"github.com/actorswarm/swarm/internal/price"
	"github.com/actorswarm/swarm/mailbox"
)

// Options adjust a Store. The zero value is what a session uses.
type Options struct {
	Journal journal.Options
	// Prices gives the cost of an answer when it is recorded; nil knows no prices.
	Prices *price.Table
	// ReadOnly writes and repairs nothing. What would change an agent fails when the
	// caller waits for the disk.
	ReadOnly bool
	// NoLines leaves out the JSON lines files.
	NoLines bool
	// StateChanged is called with messages of an agent whose state has changed, by the
	// goroutine of the courier. It must not block. May be nil.
	StateChanged func(sender mailbox.AgentID, ids []mailbox.ID, state mailbox.State)
	// Arrived is called with each message that was recorded, before it is durable, by
	// the goroutine of the courier. It must not block. May be nil.
	Arrived func(mailbox.Envelope)
	// IsGone reports whether an agent of another process has ended for good, so that
	// this node acknowledges mail to it as dead. It must not block. May be nil.
	IsGone func(mailbox.AgentID) bool
}

// Store is the transcripts of all agents of one node over one journal. It is
// the mailbox.Recorder of the node.
type Store struct {
	journal *journal.Journal
	dir     string // of the JSON lines files
	session string
	opts    Options
	out     *queue // accepted messages on their way to the courier
	forks   prefixes
	objects *object.Store // long bodies of messages

	mu     sync.RWMutex
	agents map[mailbox.AgentID]*Transcript // guarded by mu
	cursor mailbox.Cursor                  // newest recorded; guarded by mu
	notes  []string                        // of Open

	scope context.Context // ends with Close
	stop  context.CancelCauseFunc
	done  sync.WaitGroup
}

var errStoreClosed = errors.New("transcript: store closed")

// Open reads the journal under dir and returns the agents that are on record. The journal
// is locked until Close; the error names the process that holds it.
func Open(ctx context.Context, dir, session string, o Options) (*Store, error) {
	o.Journal.ReadOnly = o.ReadOnly
	o.NoLines = o.NoLines || o.ReadOnly
	j, err := journal.Open(filepath.Join(dir, "journal"), o.Journal)
	if err != nil {
		return nil, err
	}
	s := &Store{
		journal: j, session: session, opts: o, out: newQueue(),
		dir: filepath.Join(dir, "transcripts"), objects: object.New(filepath.Join(dir, "objects")),
		agents: map[mailbox.AgentID]*Transcript{},
	}
	if err := s.start(); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	s.scope, s.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	if !o.ReadOnly {
		s.done.Go(s.checkpoints)
	}
	return s, nil
}

func (s *Store) start() error {
	if err := s.makeDir(); err != nil {
		return err
	}
	if err := s.journal.Live(s.replay); err != nil {
		return err
	}
	for _, t := range s.agents {
		s.advance(t.state.ledger.Cursor())
	}
	if err := s.collectBodies(); err != nil {
		s.notes = append(s.notes, fmt.Sprintf("long texts that no message names could not be collected: %v", err))
	}
	if r := s.journal.Report(); !r.Clean() {
		s.notes = append(s.notes, r.String())
	}
	torn, err := cutTorn(s.dir, !s.opts.ReadOnly)
	s.notes = append(s.notes, torn...)
	return err
}

func (s *Store) makeDir() error {
	if s.opts.ReadOnly {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("transcript: create %s: %w", s.dir, err)
	}
	return nil
}

func (s *Store) replay(r journal.Record) error {
	t := s.agents[mailbox.AgentID(r.Stream)]
	if t == nil {
		t = s.blank(mailbox.AgentID(r.Stream))
		s.agents[t.ID()] = t
	}
	if r.Snapshot {
		return t.state.restore(t.ID(), r.Data)
	}
	return t.state.replay(r.Kind, r.Data)
}

func (s *Store) blank(id mailbox.AgentID) *Transcript {
	return &Transcript{store: s, key: string(id), state: state{ledger: mailbox.NewLedger(id)}}
}

// checkpoints writes a checkpoint whenever the journal asks for one.
func (s *Store) checkpoints() {
	for {
		select {
		case <-s.journal.CheckpointDue():
			// A failed checkpoint means a failed journal, which Failed reports; an
			// unfinished one is ignored by the next Open.
			if err := s.Checkpoint(); err != nil {
				return
			}
		case <-s.scope.Done():
			return
		}
	}
}

// Checkpoint writes the state of all agents, so that the next Open reads no
// further back than this.
func (s *Store) Checkpoint() error {
	return s.journal.Checkpoint(func(snap func(string, []byte)) error {
		for _, t := range s.All() {
			if err := t.checkpoint(snap); err != nil {
				return err
			}
		}
		return nil
	})
}

// Notes returns what Open has repaired or found damaged, one sentence each.
func (s *Store) Notes() []string { return s.notes }

// Create records the birth of an agent. The agent exists when it returns; wait
// returns when its birth is on disk.
func (s *Store) Create(spec agent.Spec) (t *Transcript, wait func() error, err error) {
	t = s.blank(spec.ID)
	t.mu.Lock()
	defer t.mu.Unlock()
	s.mu.Lock()
	if s.agents[spec.ID] != nil {
		s.mu.Unlock()
		return nil, nil, fmt.Errorf("transcript: agent %s exists already", spec.ID)
	}
	s.agents[spec.ID] = t
	s.mu.Unlock()
	t.lines.fresh = true
	ticket, err := t.add(kindBorn, &spec, nil)
	return t, ticket.Wait, err
}

// Get returns the transcript of an agent of this node.
func (s *Store) Get(id mailbox.AgentID) (*Transcript, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, ok := s.agents[id]
	return t, ok
}

// All returns the transcripts of this node, oldest agent first.
func (s *Store) All() []*Transcript {
	s.mu.RLock()
	all := make([]*Transcript, 0, len(s.agents))
	for _, t := range s.agents {
		all = append(all, t)
	}
	s.mu.RUnlock()
	slices.SortFunc(all, func(a, b *Transcript) int {
		return cmp.Or(a.Spec().Born.Compare(b.Spec().Born), cmp.Compare(a.key, b.key))
	})
	return all
}

// Cursor returns the newest position of the wire that is recorded.
func (s *Store) Cursor() mailbox.Cursor {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.cursor
}

func (s *Store) advance(c mailbox.Cursor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Stream > s.cursor.Stream || c.Stream == s.cursor.Stream && c.Seq > s.cursor.Seq {
		s.cursor = c
	}
}

// Pending returns every message that was accepted and is not acknowledged, those of each
// sender in the order in which they were sent.
func (s *Store) Pending() []mailbox.Envelope {
	var all []mailbox.Envelope
	for _, t := range s.All() {
		t.mu.Lock()
		all = append(all, t.state.ledger.Outbox()...)
		t.mu.Unlock()
	}
	return all
}

// Ship hands every message that is accepted from now on to send, in the order
// of the journal and only once it is on disk. Call it once.
func (s *Store) Ship(send func(mailbox.Envelope)) {
	s.done.Go(func() {
		for {
			o, ok := s.out.take()
			if !ok || o.ticket.Wait() != nil {
				return // closed, or the journal has failed and accepts nothing
			}
			if o.envelope.Ref != "" {
				// If this fails, the next Open checks the object again.
				_ = s.objects.MarkReferenced(o.envelope.Ref)
			}
			send(o.envelope)
		}
	})
}

// Arrive implements mailbox.Recorder.
func (s *Store) Arrive(e mailbox.Envelope, c mailbox.Cursor) (mailbox.Arrival, error) {
	t, ok := s.Get(e.To.Agent)
	switch away := !ok || t.IsReplica(); {
	case away && s.opts.IsGone != nil && s.opts.IsGone(e.To.Agent):
		return mailbox.Arrival{Verdict: mailbox.Dead}, nil
	case away:
		return mailbox.Arrival{}, mailbox.ErrNotLocal
	}
	a, err := t.arrive(e, c)
	if err == nil && a.Verdict == mailbox.Fresh {
		s.advance(c)
		if s.opts.Arrived != nil {
			s.opts.Arrived(e)
		}
		if st, known := t.Status(e.InReplyTo); known && st.State == mailbox.StateAnswered && s.opts.StateChanged != nil {
			s.opts.StateChanged(t.ID(), []mailbox.ID{e.InReplyTo}, st.State)
		}
	}
	return a, err
}

// Acknowledge implements mailbox.Recorder.
func (s *Store) Acknowledge(r mailbox.Receipt) {
	t, ok := s.Get(r.To.Agent)
	if !ok {
		return
	}
	if ids := t.acknowledge(r); len(ids) > 0 && s.opts.StateChanged != nil {
		s.opts.StateChanged(r.To.Agent, ids, r.State)
	}
}

// Failed is closed when the journal can no longer be written. The node must
// stop: nothing is accepted any more. Err returns why.
func (s *Store) Failed() <-chan struct{} { return s.journal.Failed() }

// Err returns why the journal failed, or nil.
func (s *Store) Err() error { return s.journal.Err() }

// Sync returns when everything recorded so far is on disk.
func (s *Store) Sync() error { return s.journal.Sync() }

// Close writes a checkpoint, stops the store's goroutines and releases the
// journal. It may be called more than once.
func (s *Store) Close() error {
	var errs []error
	if s.journal.Err() == nil && s.scope.Err() == nil && !s.opts.ReadOnly {
		errs = append(errs, s.Checkpoint())
	}
	s.out.close()
	s.stop(errStoreClosed)
	s.done.Wait()
	for _, t := range s.All() {
		t.Forget()
	}
	return errors.Join(append(errs, s.journal.Close())...)
}
