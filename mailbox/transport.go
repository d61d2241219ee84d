package mailbox

import (
	"context"
	"errors"
)

// ErrStopped is the error of a stopped transport or courier.
var ErrStopped = errors.New("mailbox: stopped")

// ErrNotLocal is the error of a Recorder for an agent of another node.
var ErrNotLocal = errors.New("mailbox: the agent is not of this node")

// Transport moves envelopes and receipts between nodes. It may lose, duplicate and delay
// both, and its stream may lose its newest messages; the ledgers at both ends make that
// harmless. Every implementation passes mailboxtest.Run.
type Transport interface {
	// Start delivers everything stored after from and then what arrives, in stored
	// order, for every receiver. It calls deliver, which may block, from one goroutine,
	// and receipt from one goroutine, perhaps another. A transport whose stream is not
	// the one of from, or ends before it, delivers from the beginning of its stream. The
	// transport stops when ctx ends, as Stop does but without waiting.
	Start(ctx context.Context, from Cursor, deliver func(Envelope, Cursor), receipt func(Receipt)) error
	// Publish publishes e and keeps the order of calls. It blocks only for
	// back-pressure. Success does not mean that e is stored.
	Publish(e Envelope) error
	// PublishReceipt sends r to the node of the agent r.To.
	PublishReceipt(r Receipt) error
	// Forget declares that this node needs nothing up to through again.
	Forget(through Cursor) error
	// Stop ends deliveries and waits for the last one. It is idempotent and may be
	// called before Start, but not from deliver or receipt.
	Stop() error
}

// Recorder records the mail of one node's agents. Its methods are called concurrently.
type Recorder interface {
	// Arrive checks e against the ledger of its receiver and, if it is Fresh, appends
	// it to the journal together with c and applies it. It does not wait for the disk.
	// It returns ErrNotLocal for an agent of another node; after any other error nothing
	// is recorded, and the sender tries again.
	Arrive(e Envelope, c Cursor) (Arrival, error)
	// Acknowledge applies a receipt to the ledger of the sender r.To and records it
	// without waiting: a receipt that is lost in a crash is sent again. It ignores
	// receipts for agents of other nodes.
	Acknowledge(r Receipt)
}

// Arrival is the result of recording a message.
type Arrival struct {
	Verdict Verdict
	Through uint64       // the mark of this sender, including this message
	Durable func() error // waits until the record is on disk; nil if nothing was recorded
	// Superseded are the unread messages of the sender that this one replaced.
	Superseded []ID
}
