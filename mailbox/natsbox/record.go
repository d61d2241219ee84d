package natsbox

import (
	"encoding/binary"
	"fmt"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/mailbox"
)

// The kinds of journal record of a bus; the stream is the agent's id.
const (
	recordSent    = 1 // an envelope
	recordArrived = 2 // a cursor and an envelope
	recordRead    = 3 // a message id
	recordReceipt = 4 // a receipt
)

// recorder is the bus as its courier sees it.
type recorder Bus

// Arrive implements mailbox.Recorder.
func (r *recorder) Arrive(e mailbox.Envelope, c mailbox.Cursor) (mailbox.Arrival, error) {
	b := (*Bus)(r)
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.agents[e.To.Agent]
	if a == nil {
		return mailbox.Arrival{}, mailbox.ErrNotHere
	}
	got := mailbox.Arrival{Verdict: a.ledger.Check(e)}
	if got.Verdict == mailbox.Fresh {
		ticket := b.journal.Append(string(e.To.Agent), recordArrived, appendArrival(e, c))
		a.ledger.Arrived(e, c)
		got.Durable = ticket.Wait
	}
	got.Through = a.ledger.Mark(e.From.Agent)
	return got, nil
}

// Settle implements mailbox.Recorder.
func (r *recorder) Settle(receipt mailbox.Receipt) {
	b := (*Bus)(r)
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.agents[receipt.To.Agent]
	if a != nil && len(a.ledger.Settled(receipt)) > 0 {
		b.journal.Append(string(receipt.To.Agent), recordReceipt, receipt.AppendBinary(nil))
	}
}

func appendArrival(e mailbox.Envelope, c mailbox.Cursor) []byte {
	dst := make([]byte, 0, 160+len(e.Body))
	dst = binary.BigEndian.AppendUint64(dst, uint64(c.Stream))
	dst = binary.BigEndian.AppendUint64(dst, c.Seq)
	return e.AppendBinary(dst)
}

func decodeArrival(data []byte) (mailbox.Envelope, mailbox.Cursor, error) {
	if len(data) < 16 {
		return mailbox.Envelope{}, mailbox.Cursor{}, fmt.Errorf("an arrival of %d bytes", len(data))
	}
	c := mailbox.Cursor{Stream: int64(binary.BigEndian.Uint64(data)), Seq: binary.BigEndian.Uint64(data[8:])}
	e, err := mailbox.DecodeBinary(data[16:])
	return e, c, err
}

// replay folds one record of the journal; only open calls it.
func (b *Bus) replay(r journal.Record) error {
	if err := b.fold(b.agent(mailbox.AgentID(r.Stream)).ledger, r); err != nil {
		return fmt.Errorf("record %d of %s: %w", r.Seq, r.Stream, err)
	}
	return nil
}

func (b *Bus) fold(l *mailbox.Ledger, r journal.Record) error {
	if r.Snapshot {
		return l.Restore(r.Data)
	}
	switch r.Kind {
	case recordSent:
		e, err := mailbox.DecodeBinary(r.Data)
		if err != nil {
			return err
		}
		l.Sent(e)
	case recordArrived:
		e, c, err := decodeArrival(r.Data)
		if err != nil {
			return err
		}
		l.Arrived(e, c)
	case recordRead:
		l.Read(mailbox.ID(r.Data))
	case recordReceipt:
		receipt, err := mailbox.DecodeBinaryReceipt(r.Data)
		if err != nil {
			return err
		}
		l.Settled(receipt)
	default:
		return fmt.Errorf("kind %d is unknown; the journal is of a later version", r.Kind)
	}
	return nil
}

func (b *Bus) cursor() (newest mailbox.Cursor) {
	for _, a := range b.agents {
		if c := a.ledger.Cursor(); c.Compare(newest) > 0 {
			newest = c
		}
	}
	return newest
}

func (b *Bus) outbox() (out []mailbox.Envelope) {
	for _, a := range b.agents {
		out = append(out, a.ledger.Outbox()...)
	}
	return out
}

// checkpoints writes one whenever the journal asks for it.
func (b *Bus) checkpoints() {
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-b.journal.CheckpointDue():
		}
		if err := b.checkpoint(); err != nil {
			b.o.OnTrouble(fmt.Errorf("natsbox: checkpoint the journal, the one before still counts: %w", err))
		}
	}
}

func (b *Bus) checkpoint() error {
	return b.journal.Checkpoint(func(snap func(string, []byte)) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		for id, a := range b.agents {
			snap(string(id), a.ledger.AppendSnapshot(nil))
		}
		return nil
	})
}
