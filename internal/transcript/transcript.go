package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/team/protocol"
)

// ErrClosed is what a transcript answers to a new prompt or request once its
// agent has ended for good.
var ErrClosed = errors.New("transcript: the agent has ended")

// Transcript is the life of one agent.
type Transcript struct {
	store *Store
	key   string // stream in the journal

	mu     sync.Mutex
	life   life            // guarded by mu
	ledger *mailbox.Ledger // guarded by mu
	talk   *talk           // guarded by mu; nil until the conversation is needed
	lines  lines           // guarded by mu
	ending bool            // its end is about to be told; guarded by mu
}

// ID returns the agent's id.
func (t *Transcript) ID() mailbox.AgentID { return mailbox.AgentID(t.key) }

// Life returns a copy of everything but the conversation.
func (t *Transcript) Life() agent.Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.life.Record
}

// Spec returns what the agent is.
func (t *Transcript) Spec() agent.Spec {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.life.Spec
}

// Address returns the agent's address in its present incarnation.
func (t *Transcript) Address() mailbox.Address {
	t.mu.Lock()
	defer t.mu.Unlock()
	return mailbox.Address{Agent: t.life.Spec.ID, Incarnation: t.life.Incarnation}
}

// HasWork reports whether the agent has a turn to begin or to go on with: a
// turn is open, mail is unread that is worth one, or a protocol has a
// word for it.
func (t *Transcript) HasWork() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.life.Closed && (t.life.TurnOpen || t.life.Told || slices.ContainsFunc(t.ledger.Unread(), mailbox.Envelope.Wakes))
}

// Unread returns the messages that no request has carried yet.
func (t *Transcript) Unread() []mailbox.Envelope {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ledger.Unread()
}

// add appends a record and folds it. mu is held. The caller waits for the
// ticket after it has released mu.
func (t *Transcript) add(kind byte, meta any, raw []byte) (journal.Ticket, error) {
	data, err := encode(meta, raw)
	if err != nil {
		return journal.Ticket{}, err
	}
	ticket := t.store.journal.Append(t.key, kind, data)
	if t.talk != nil {
		if err := t.talk.apply(kind, data); err != nil {
			return journal.Ticket{}, err
		}
		if kind == kindAnswer {
			t.talk.answer = ticket.Seq()
		}
	}
	t.life.apply(kind, meta)
	t.lines.write(t, ticket.Seq(), kind, meta, raw)
	return ticket, nil
}

// life is the part of a transcript that is always in memory and in every
// checkpoint: everything but the conversation.
type life struct {
	agent.Record
	// Letters are of the session it stands for, about which a person is or was
	// asked; replaced, never changed in place.
	Letters []Letter `json:"letters,omitempty"`
}

// apply folds the decoded meta data of a record into the life.
func (l *life) apply(kind byte, meta any) {
	switch m := meta.(type) {
	case *agent.Spec:
		l.Spec, l.Active = *m, m.Born
		if m.PlanRequired {
			l.Plan.Phase = protocol.PlanDrafting
		}
	case *wokeMeta:
		l.Incarnation, l.Active = m.Incarnation, m.Time
	case *promptMeta:
		l.open(m.Time)
	case *forkMeta:
		l.open(m.Time)
	case *requestMeta:
		l.work(m.Time)
		l.open(m.Time)
		l.Told = false
	case *answerMeta:
		l.Steps++
		l.TurnSteps++
		l.AnsweredBy = m.Model
		l.use(m.Model, m.Usage, m.Cost)
		l.work(m.Time)
	case *startMeta:
		l.work(m.Time)
	case *consentMeta:
		if m.State == ConsentAsked {
			l.work(m.Time)
		}
		l.Active = m.Time // the time until the answer was the person's
	case *finishMeta:
		l.ToolUses++
		l.work(m.Time)
	case *endMeta:
		l.work(m.Time)
		l.TurnOpen, l.Outcome, l.Reason, l.Result = false, m.Outcome, m.Reason, m.Text
	case *compactedMeta:
		l.Compactions++
		l.use(l.AnsweredBy, m.Usage, m.Cost)
		l.work(m.Time)
	case *readMeta:
		l.Active = m.Time
	case *letterMeta:
		l.applyLetter(m)
	case *amendMeta:
		l.Spec.Model, l.Spec.Mode, l.Spec.MaxTurns, l.Active = m.Model, m.Mode, m.MaxTurns, m.Time
	case *teamsMeta:
		l.Spec.Teams, l.Active = m.Teams, m.Time
	case *observedMeta:
		l.follow(m.Life)
	case *launchedMeta:
		l.Launch = m.Launch
	case *roleMeta:
		l.Spec.Role, l.Closed, l.Active = m.Role, false, m.Time
		if l.Shutdown.Phase == protocol.ShutdownGone { // it was taken in again
			l.Shutdown = protocol.Shutdown{}
		}
		if m.Woken != nil {
			l.Woken = *m.Woken
		}
	case *protocolMeta:
		l.applyProtocol(m)
	case *closedMeta:
		l.Closed, l.Settled, l.Active, l.Kept = true, l.Turns, m.Time, m.Kept
		if l.Told { // it came too late to be read
			l.TurnOpen, l.Told = false, false
		}
		if m.Reason != "" {
			l.Outcome, l.Reason = agent.Stopped, m.Reason
		}
	}
}

func (l *life) open(now time.Time) {
	if !l.TurnOpen {
		l.TurnOpen, l.TurnSteps = true, 0
		l.Turns++
	}
	l.Active = now
}

// metaOf returns an empty meta value for the kinds that the life folds.
func metaOf(kind byte) any {
	switch kind {
	case kindBorn:
		return &agent.Spec{}
	case kindWoke:
		return &wokeMeta{}
	case kindPrompt:
		return &promptMeta{}
	case kindFork:
		return &forkMeta{}
	case kindRequest:
		return &requestMeta{}
	case kindAnswer:
		return &answerMeta{}
	case kindStart:
		return &startMeta{}
	case kindConsent:
		return &consentMeta{}
	case kindFinish:
		return &finishMeta{}
	case kindEnd:
		return &endMeta{}
	case kindClosed:
		return &closedMeta{}
	case kindRole:
		return &roleMeta{}
	case kindAmend:
		return &amendMeta{}
	case kindCompacted:
		return &compactedMeta{}
	case kindTeams:
		return &teamsMeta{}
	case kindRead:
		return &readMeta{}
	case kindObserved:
		return &observedMeta{}
	case kindLaunched:
		return &launchedMeta{}
	case kindProtocol:
		return &protocolMeta{}
	case kindLetter:
		return &letterMeta{}
	}
	return nil
}

// replay folds a record that was read from the journal into life and ledger.
func (t *Transcript) replay(kind byte, data []byte) error {
	switch kind {
	case kindSent:
		e, err := mailbox.DecodeBinary(data)
		if err != nil {
			return err
		}
		t.ledger.Sent(e)
	case kindArrived:
		e, c, err := decodeArrival(data)
		if err != nil {
			return err
		}
		t.ledger.Arrived(e, c)
	case kindSettled:
		r, err := mailbox.DecodeBinaryReceipt(data)
		if err != nil {
			return fmt.Errorf("transcript: recorded receipt: %w", err)
		}
		t.ledger.Settled(r)
	default:
		return t.replayLife(kind, data)
	}
	return nil
}

func (t *Transcript) replayLife(kind byte, data []byte) error {
	meta := metaOf(kind)
	if meta == nil {
		return nil
	}
	if _, err := decode(data, meta); err != nil {
		return err
	}
	t.life.apply(kind, meta)
	switch m := meta.(type) {
	case *requestMeta:
		t.ledger.Read(m.Mail...)
	case *readMeta:
		t.ledger.Read(m.Mail...)
	}
	return nil
}

// checkpoint writes the agent's snapshot. It holds mu over the append, so that
// the snapshot is exactly the fold of the records before it.
func (t *Transcript) checkpoint(snap func(stream string, data []byte)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	head, err := json.Marshal(t.life)
	if err != nil {
		return fmt.Errorf("transcript: snapshot of %s: %w", t.key, err)
	}
	snap(t.key, t.ledger.AppendSnapshot(append(head, '\n')))
	return nil
}

func (t *Transcript) restore(data []byte) error {
	var l life
	raw, err := decode(data, &l)
	if err != nil {
		return err
	}
	if l.Models == nil { // a snapshot of before models were told apart
		total := l.Usage
		l.use(l.Spec.Model, total, nil)
		l.Usage = total
	}
	t.life, t.ledger = l, mailbox.NewLedger(t.ID())
	return t.ledger.Restore(raw)
}

// load makes the conversation available. mu is held.
func (t *Transcript) load() error {
	if t.talk != nil {
		return nil
	}
	if err := t.store.journal.Sync(); err != nil {
		return err
	}
	k, err := t.store.talkUntil(t.key, math.MaxUint64)
	if err != nil {
		return err
	}
	t.talk = k
	return nil
}

// talkUntil folds the conversation of a stream as it was at a place in the
// journal. The conversation of a fork begins with its parent's.
func (s *Store) talkUntil(stream string, last uint64) (*talk, error) {
	k := &talk{}
	for rec, err := range s.journal.History(stream) {
		if err != nil {
			return nil, fmt.Errorf("transcript: history of %s: %w", stream, err)
		}
		if rec.Seq > last {
			break
		}
		if rec.Kind == kindFork {
			k, err = s.forked(rec.Data)
		} else {
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
func (s *Store) forked(data []byte) (*talk, error) {
	var m forkMeta
	raw, err := decode(data, &m)
	if err != nil {
		return nil, err
	}
	k, err := s.forks.of(forkPoint{m.Parent, m.Seq}, func() (*talk, error) {
		return s.talkUntil(string(m.Parent), m.Seq)
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
	return t.talk != nil
}

// Forget drops the conversation from memory; it is read back from the journal
// when it is needed. An idle agent costs no more than its Life.
func (t *Transcript) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.talk = nil
	t.lines.close()
}

// Messages returns the conversation so far. The caller must not change it.
func (t *Transcript) Messages() ([]model.Message, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return nil, err
	}
	return slices.Clip(t.talk.msgs), nil
}
