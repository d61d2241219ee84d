package journal

// Ticket is the handle of one appended record. Copies are the same ticket. The zero value
// cannot be used.
type Ticket struct {
	b   *batch
	seq uint64
}

// Wait blocks until the record is durable (nil) or never will be: [ErrFailed],
// [ErrClosed], [ErrTooBig] or [ErrNoKind].
func (t Ticket) Wait() error {
	<-t.b.done
	return t.b.err
}

// Done returns a channel that is closed when Wait no longer blocks.
func (t Ticket) Done() <-chan struct{} { return t.b.done }

// Err is nil until Done is closed; then it is what Wait returns.
func (t Ticket) Err() error {
	select {
	case <-t.b.done:
		return t.b.err
	default:
		return nil
	}
}

// Seq returns the record's place in the order; 0 if the record was refused.
func (t Ticket) Seq() uint64 { return t.seq }

// batch is what is written and synced at once.
type batch struct {
	buf     []byte
	n       uint32
	roll    bool   // begins a new segment
	segment uint64 // where it was written; set before done is closed
	done    chan struct{}
	err     error // set before done is closed
}

func newBatch(buf []byte) *batch { return &batch{buf: buf[:0], done: make(chan struct{})} }

// refusedTicket returns the ticket of a record that was not accepted.
func refusedTicket(err error) Ticket {
	b := newBatch(nil)
	b.err = err
	close(b.done)
	return Ticket{b: b}
}
