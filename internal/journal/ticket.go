package journal

// Ticket stands for one appended record. It is a small value; copies are the
// same ticket. Its zero value is of no use.
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

// Done is closed when the record's fate is known.
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

// Seq is the record's place in the order, 0 if it was refused.
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

// refused returns a ticket that is settled.
func refused(err error) Ticket {
	b := newBatch(nil)
	b.err = err
	close(b.done)
	return Ticket{b: b}
}
