package transcript

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
)

// ErrClosed is the error of a new prompt or request once the agent has ended for good.
var ErrClosed = errors.New("transcript: the agent has ended")

// Transcript is the record of one agent, from its birth to its end.
type Transcript struct {
	store *Store
	key   string // stream in the journal

	mu     sync.Mutex
	state  state         // guarded by mu
	conv   *conversation // guarded by mu; nil until the conversation is needed
	lines  lines         // guarded by mu
	ending bool          // the end of its turn is being reported; guarded by mu
}

// ID returns the agent's id.
func (t *Transcript) ID() mailbox.AgentID { return mailbox.AgentID(t.key) }

// Record returns the agent's record: everything but the conversation and the mail.
func (t *Transcript) Record() agent.Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state.Record
}

// Spec returns what the agent is.
func (t *Transcript) Spec() agent.Spec {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state.Spec
}

// Address returns the agent's address in its present incarnation.
func (t *Transcript) Address() mailbox.Address {
	t.mu.Lock()
	defer t.mu.Unlock()
	return mailbox.Address{Agent: t.state.Spec.ID, Incarnation: t.state.Incarnation}
}

// HasWork reports whether the agent has a turn to begin or to continue: a turn is open,
// unread mail wakes it, or a protocol has a message for it.
func (t *Transcript) HasWork() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.state.Closed && (t.state.TurnOpen || t.state.Unread || slices.ContainsFunc(t.state.ledger.Unread(), mailbox.Envelope.Wakes))
}

// Unread returns the messages that no request has carried yet.
func (t *Transcript) Unread() []mailbox.Envelope {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state.ledger.Unread()
}

// add appends a record and folds it. mu is held. The caller waits for the
// ticket after it has released mu.
func (t *Transcript) add(kind byte, meta any, raw []byte) (journal.Ticket, error) {
	data, err := encode(meta, raw)
	if err != nil {
		return journal.Ticket{}, err
	}
	ticket := t.store.journal.Append(t.key, kind, data)
	if t.conv != nil {
		if err := t.conv.apply(kind, data); err != nil {
			return journal.Ticket{}, err
		}
		if kind == kindAnswer {
			t.conv.answer = ticket.Seq()
		}
	}
	t.state.apply(kind, meta)
	t.lines.write(t, ticket.Seq(), kind, meta, raw)
	return ticket, nil
}

// checkpoint writes the agent's snapshot. It holds mu over the append, so that
// the snapshot is exactly the fold of the records before it.
func (t *Transcript) checkpoint(snap func(stream string, data []byte)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	data, err := t.state.snapshot()
	if err != nil {
		return fmt.Errorf("transcript: snapshot of %s: %w", t.key, err)
	}
	snap(t.key, data)
	return nil
}

// load makes the conversation available. mu is held.
func (t *Transcript) load() error {
	if t.conv != nil {
		return nil
	}
	if err := t.store.journal.Sync(); err != nil {
		return err
	}
	k, err := t.store.conversationUntil(t.key, math.MaxUint64)
	if err != nil {
		return err
	}
	t.conv = k
	return nil
}

// conversationUntil returns the conversation of a stream as it was at a place in the
// journal. The conversation of a fork begins with its parent's.
func (s *Store) conversationUntil(stream string, last uint64) (*conversation, error) {
	k := &conversation{}
	for rec, err := range s.journal.History(stream) {
		if err != nil {
			return nil, fmt.Errorf("transcript: history of %s: %w", stream, err)
		}
		if rec.Seq > last {
			break
		}
		switch rec.Kind {
		case kindFork:
			k, err = s.forked(rec.Data)
		case kindArrived:
			var e mailbox.Envelope
			if e, _, err = decodeArrival(rec.Data); err == nil {
				k.mailed(stream, e)
			}
		default:
			err = k.apply(rec.Kind, rec.Data)
		}
		if err != nil {
			return nil, fmt.Errorf("transcript: record %d of %s: %w", rec.Seq, stream, err)
		}
		if rec.Kind == kindAnswer {
			k.answer = rec.Seq
		}
	}
	return k, nil
}

// forked returns the conversation that a fork begins with.
func (s *Store) forked(data []byte) (*conversation, error) {
	var m forkMeta
	raw, err := decode(data, &m)
	if err != nil {
		return nil, err
	}
	k, err := s.forks.of(forkPoint{m.Parent, m.Seq}, func() (*conversation, error) {
		return s.conversationUntil(string(m.Parent), m.Seq)
	})
	if err != nil {
		return nil, err
	}
	return k.fork(slices.Clone(raw)), nil
}

// Loaded reports whether the conversation is in memory.
func (t *Transcript) Loaded() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.conv != nil
}

// Forget drops the conversation from memory. It is read from the journal again when it is
// needed; an idle agent costs no more than its record.
func (t *Transcript) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conv = nil
	t.lines.close()
}

// Messages returns the conversation so far. The caller must not change it.
func (t *Transcript) Messages() ([]model.Message, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return nil, err
	}
	return slices.Clip(t.conv.msgs), nil
}
