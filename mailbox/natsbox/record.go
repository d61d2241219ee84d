package natsbox

import (
	"encoding/binary"
	"fmt"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/mailbox"
)

// Kinds of journal records of a bus; the journal's stream is the agent's id.
const (
	recordSent    = 1 // an envelope
	recordArrived = 2 // a cursor and an envelope
	recordRead    = 3 // a message id
	recordReceipt = 4 // a receipt
)

// recorder is the mailbox.Recorder of a bus.
type recorder Bus

// Arrive implements mailbox.Recorder.
func (r *recorder) Arrive(e mailbox.Envelope, c mailbox.Cursor) (mailbox.Arrival, error) {
	b := (*Bus)(r)
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.agents[e.To.Agent]
	if a == nil {
		return mailbox.Arrival{}, mailbox.ErrNotLocal
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

// Acknowledge implements mailbox.Recorder.
func (r *recorder) Acknowledge(receipt mailbox.Receipt) {
	b := (*Bus)(r)
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.agents[receipt.To.Agent]
	if a != nil && len(a.ledger.Acknowledged(receipt)) > 0 {
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

// replay applies one record of the journal; only open calls it.
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
		l.Acknowledged(receipt)
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

// checkpoints writes a checkpoint when the journal requests one.
func (b *Bus) checkpoints() {
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-b.journal.CheckpointDue():
		}
		if err := b.checkpoint(); err != nil {
			b.o.OnError(fmt.Errorf("natsbox: checkpoint the journal, the previous checkpoint still applies: %w", err))
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
