package transcript

import (
	"errors"
	"time"
	"unicode/utf8"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/mailbox"
)

// Send accepts a message from this agent: it sets sender, time, id and sequence number
// and records the intent. Once the record is on disk, durable returns and the courier
// gets the message. A caller whose own answer is recorded after the intent, as a tool's
// result is, need not wait: a later record is on disk no sooner. A message with an id
// that was sent before is not sent again.
//
// A plain text over MaxInline is stored as an object before the intent is recorded. The
// message then carries its beginning and a reference.
func (t *Transcript) Send(e mailbox.Envelope) (sent mailbox.Envelope, durable func() error, err error) {
	if err := t.room(e); err != nil {
		return e, nil, err
	}
	if e, err = t.store.storeLongBody(e); err != nil {
		return e, nil, err
	}
	e, ticket, err := t.send(e)
	switch {
	case errors.Is(err, errSentBefore):
		return e, t.store.Sync, nil
	case err != nil:
		return e, nil, err
	}
	return e, ticket.Wait, nil
}

// room returns a *mailbox.FullError before a long text is stored in vain. The outbox may
// still be full when the message is composed; the stored text is collected then.
func (t *Transcript) room(e mailbox.Envelope) error {
	if len(e.Body) <= MaxInline {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.state.ledger.State(e.ID); known {
		return nil
	}
	return t.state.ledger.CheckRoom(e.To, 0)
}

// The sizes of long texts, in bytes.
const (
	MaxInline = 64 << 10 // the longest plain text that travels whole
	headSize  = 4 << 10  // what travels of a longer one
)

// storeLongBody stores a long body as an object. A structured message stays whole.
func (s *Store) storeLongBody(e mailbox.Envelope) (mailbox.Envelope, error) {
	switch e.Kind {
	case mailbox.KindText, mailbox.KindBroadcast, mailbox.KindAgentReport, mailbox.KindIdle:
	default:
		return e, nil
	}
	if len(e.Body) <= MaxInline || !utf8.ValidString(e.Body) {
		return e, nil
	}
	var err error
	if e.Ref, err = s.objects.Put([]byte(e.Body)); err != nil {
		return e, err
	}
	n := headSize
	for !utf8.RuneStart(e.Body[n]) {
		n--
	}
	e.Body = e.Body[:n]
	return e, nil
}

// Body returns the whole body of a message.
func (s *Store) Body(e mailbox.Envelope) (string, error) {
	if e.Ref == "" {
		return e.Body, nil
	}
	body, err := s.objects.Get(e.Ref)
	return string(body), err
}

// HasBody reports whether the whole body of a message is on this disk.
func (s *Store) HasBody(ref mailbox.Ref) bool { return ref == "" || s.objects.Has(ref) }

// Object returns the bytes that a reference names.
func (s *Store) Object(ref mailbox.Ref) ([]byte, error) { return s.objects.Get(ref) }

// PutBody stores the whole body of a message of another process on this disk.
func (s *Store) PutBody(body []byte) error {
	_, err := s.objects.Put(body)
	return err
}

// collectBodies removes the bodies that no message names since a crash came between.
func (s *Store) collectBodies() error {
	loose, err := s.objects.Unreferenced()
	if err != nil || len(loose) == 0 || s.opts.ReadOnly {
		return err
	}
	named := map[string]bool{}
	for _, t := range s.All() {
		err := s.eachRecord(t.ID(), func(r journal.Record) error {
			e, err := mailOf(r)
			named[e.Ref.Hash()] = true
			return err
		})
		if err != nil {
			return err
		}
	}
	var errs []error
	for _, hash := range loose {
		errs = append(errs, s.objects.Resolve(hash, named[hash]))
	}
	return errors.Join(errs...)
}

// mailOf returns the message of a record; zero if the record is about something else.
func mailOf(r journal.Record) (e mailbox.Envelope, err error) {
	switch r.Kind {
	case kindSent:
		e, err = mailbox.DecodeBinary(r.Data)
	case kindArrived:
		e, _, err = decodeArrival(r.Data)
	case kindHeld:
		var m heldMeta
		_, err = decode(r.Data, &m)
		e.Ref = m.Message.Ref
	}
	return e, err
}

// BodyPath returns the file with the whole body of a message that names one.
func (s *Store) BodyPath(ref mailbox.Ref) string { return s.objects.Path(ref) }

var errSentBefore = errors.New("transcript: message sent before")

func (t *Transcript) send(e mailbox.Envelope) (mailbox.Envelope, journal.Ticket, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.state.ledger.State(e.ID); known {
		return e, journal.Ticket{}, errSentBefore
	}
	e.From = mailbox.Address{Agent: t.ID(), Incarnation: t.state.Incarnation}
	if e.Sent.IsZero() {
		e.Sent = time.Now()
	}
	e, err := t.state.ledger.Compose(e, 0)
	if err != nil {
		return e, journal.Ticket{}, err
	}
	ticket := t.store.journal.Append(t.key, kindSent, e.AppendBinary(nil))
	t.state.ledger.Sent(e)
	t.lines.writeMail(t, ticket.Seq(), "sent", e)
	t.store.out.put(outgoing{e, ticket}) // under mu: the order of the queue is the order of the journal
	return e, ticket, nil
}

// Status returns the state of a message that this agent sent.
func (t *Transcript) Status(id mailbox.ID) (mailbox.Status, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state.ledger.State(id)
}

// OnItsWay reports whether a message from this agent to another of this node has not
// arrived yet.
func (t *Transcript) OnItsWay(to *Transcript) bool {
	t.mu.Lock()
	last := uint64(0)
	for _, e := range t.state.ledger.Outbox() {
		if e.To.Agent == to.ID() {
			last = max(last, e.Seq)
		}
	}
	t.mu.Unlock()
	to.mu.Lock()
	defer to.mu.Unlock()
	return last > to.state.ledger.Mark(t.ID())
}

// arrive records a message to this agent, with cursor and mark, if it is new.
func (t *Transcript) arrive(e mailbox.Envelope, c mailbox.Cursor) (mailbox.Arrival, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.state.verdict(e)
	if v != mailbox.Fresh {
		return mailbox.Arrival{Verdict: v, Through: t.state.ledger.Mark(e.From.Agent)}, nil
	}
	ticket := t.store.journal.Append(t.key, kindArrived, encodeArrival(e, c))
	stale := t.state.ledger.Superseded(e)
	t.state.ledger.Arrived(e, c)
	if t.conv != nil {
		t.conv.mailed(t.key, e)
	}
	t.lines.writeMail(t, ticket.Seq(), "arrived", e)
	return mailbox.Arrival{Verdict: v, Through: e.Seq, Durable: ticket.Wait, Superseded: stale}, nil
}

// acknowledge folds a receipt for messages of this agent and returns the messages whose
// state has changed. It does not wait for the disk: if the record is lost, the receiver
// is asked again.
func (t *Transcript) acknowledge(r mailbox.Receipt) []mailbox.ID {
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := t.state.ledger.Acknowledged(r)
	if len(ids) == 0 {
		return nil
	}
	t.store.journal.Append(t.key, kindReceipt, r.AppendBinary(nil))
	return ids
}
