package mailbox

import (
	"context"
	"errors"
)

// ErrStopped is what a stopped transport or courier answers.
var ErrStopped = errors.New("mailbox: stopped")

// ErrNotHere is what a Recorder answers for an agent of another node.
var ErrNotHere = errors.New("mailbox: the agent is not of this node")

// Transport moves envelopes and receipts between nodes. It may lose, double and
// delay both, and it may go backwards; the ledgers at both ends make that
// harmless. Every implementation passes mailboxtest.Run.
type Transport interface {
	// Start delivers everything stored after from and then what comes, in stored
	// order, whoever it is for; deliver is called from one goroutine and may block.
	// A transport that knows that its stream is not the one of from, or ends before
	// it, delivers from the stream's beginning. receipt is called from one goroutine,
	// maybe another. ctx is the life of the transport: its end stops it as Stop
	// does, without waiting.
	Start(ctx context.Context, from Cursor, deliver func(Envelope, Cursor), receipt func(Receipt)) error
	// Publish hands e over and keeps the order of calls. It waits no longer than
	// back-pressure demands, and its success promises nothing.
	Publish(e Envelope) error
	// Receipt sends r to whatever node has the agent r.To.
	Receipt(r Receipt) error
	// Forget says that this node needs nothing up to through again.
	Forget(through Cursor) error
	// Stop ends deliveries and waits for the last one. It is idempotent and may
	// precede Start, but must not be called from deliver or receipt.
	Stop() error
}

// Recorder is the durable side of one node's agents. Its methods are called
// concurrently.
type Recorder interface {
	// Arrive checks e against its receiver's ledger and, when it is Fresh, appends
	// it to the journal together with c and folds it. It returns before that is
	// durable. ErrNotHere: the agent is not of this node; any other error means
	// that nothing was recorded and the sender will try again.
	Arrive(e Envelope, c Cursor) (Arrival, error)
	// Settle folds a receipt into the ledger of the sender r.To and records it
	// lazily: one that a crash takes away is sent again. Receipts for agents of
	// other nodes come too and are to be ignored.
	Settle(r Receipt)
}

// Arrival is what a Recorder did with a message.
type Arrival struct {
	Verdict Verdict
	Through uint64       // the ledger's mark for this sender, with this message
	Durable func() error // waits until the record is on disk; nil when nothing was recorded
	// Superseded are unread messages of the sender whose place this one has taken.
	Superseded []ID
}
