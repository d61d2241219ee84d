package kernel

// fifo is a queue in one slice. What is popped is cleared, so that the queue
// keeps nothing alive.
type fifo struct {
	buf  []any
	head int
}

func (f *fifo) len() int { return len(f.buf) - f.head }

func (f *fifo) push(m any) {
	// Sliding only when at least half is free keeps a push O(1) on average.
	if len(f.buf) == cap(f.buf) && f.head > len(f.buf)/2 {
		n := copy(f.buf, f.buf[f.head:])
		clear(f.buf[n:])
		f.buf, f.head = f.buf[:n], 0
	}
	f.buf = append(f.buf, m)
}

// pop takes the oldest; the queue must not be empty.
func (f *fifo) pop() any {
	m := f.buf[f.head]
	f.buf[f.head] = nil
	f.head++
	if f.head == len(f.buf) {
		f.buf, f.head = f.buf[:0], 0
	}
	return m
}

// queues are the queues of an actor that has something to do. Only sys, ctl and user are
// shared with senders; cur and msg belong to the worker.
type queues struct {
	sys, ctl, user fifo // guarded by cell.mu
	cur            fifo // a batch taken from user
	msg            any  // being received
}

// small reports whether the storage is worth keeping for the next busy actor.
func (q *queues) small() bool {
	const most = 1024 // 16 KiB; a burst should not have to grow again
	return cap(q.sys.buf) <= most && cap(q.ctl.buf) <= most && cap(q.user.buf) <= most && cap(q.cur.buf) <= most
}
