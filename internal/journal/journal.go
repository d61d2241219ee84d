package journal

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
)

// Options tune a journal. The zero value is good.
type Options struct {
	FS           FS    // nil: the operating system
	SegmentBytes int64 // the size after which a new segment begins; 0: 8 MiB
	ReadOnly     bool  // nothing is written or repaired, and Append is refused
	MaxPending   int   // bytes appended and not yet durable before Append blocks; 0: 64 MiB
}

const (
	defaultSegment = 8 << 20
	defaultPending = 64 << 20
	keepBuffer     = 4 << 20 // a batch buffer over this is not used again
)

func (o Options) filled() Options {
	if o.FS == nil {
		o.FS = OS{}
	}
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = defaultSegment
	}
	if o.MaxPending <= 0 {
		o.MaxPending = defaultPending
	}
	return o
}

// Journal is an open journal. It owns one goroutine, the committer, which Close
// ends.
type Journal struct {
	dir   string
	fs    FS
	opt   Options
	lock  io.Closer
	found findings

	mu      sync.Mutex // guards the fields up to the blank line
	work    sync.Cond  // there is something to commit, or closing
	space   sync.Cond  // pending shrank, or the journal has failed or is closing
	cur     *batch     // being filled
	queue   []*batch   // full, before cur
	tail    *batch     // the last one that got a record
	free    []byte     // a buffer to use again
	pending int64
	nextSeq uint64
	closing bool
	err     error

	catalogMu sync.Mutex // guards books
	catalog   catalog

	indexMu sync.Mutex // one index file is renewed at a time
	ckptMu  sync.Mutex // one checkpoint at a time

	failed   chan struct{}
	due      chan struct{}
	done     chan struct{} // the committer has ended
	active   *segment      // only the committer
	wrote    bool          // only the committer: something since Open
	endErr   error         // only the committer, then read after done
	release  sync.Once
	closeErr error
}

// Open opens the journal in dir, creating both if missing, and makes it ready
// to append. The error names a way out; it is an [ErrLocked] when another process, or
// this one, has the journal open. With [Options.ReadOnly] it writes
// nothing but its lock file, and the directory must exist.
func Open(dir string, o Options) (*Journal, error) {
	o = o.filled()
	j, err := open(dir, o)
	if err != nil {
		return nil, openError(dir, err)
	}
	if o.ReadOnly {
		close(j.done)
		return j, nil
	}
	go j.commitAll()
	return j, nil
}

func open(dir string, o Options) (*Journal, error) {
	if err := makeDir(dir, o); err != nil {
		return nil, err
	}
	lock, err := o.FS.Lock(filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	j, err := recoverDir(dir, o)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	j.lock = lock
	return j, nil
}

// makeDir makes the directory; a journal that is only read must have one.
func makeDir(dir string, o Options) error {
	if o.ReadOnly {
		_, err := o.FS.List(dir)
		return err
	}
	return o.FS.MkdirAll(dir)
}

func recoverDir(dir string, o Options) (*Journal, error) {
	names, err := o.FS.List(dir)
	if err != nil {
		return nil, err
	}
	r := &recovery{fs: o.FS, dir: dir, room: o.SegmentBytes, readOnly: o.ReadOnly, names: names, numbers: segmentNumbers(names)}
	active, tail, err := r.run()
	if err != nil {
		return nil, err
	}
	j := &Journal{
		dir: dir, fs: o.FS, opt: o, found: r.found,
		cur: newBatch(nil), nextSeq: tail.last + 1, active: active,
		failed: make(chan struct{}), due: make(chan struct{}, 1), done: make(chan struct{}),
	}
	j.work.L, j.space.L = &j.mu, &j.mu
	for _, h := range tail.holes {
		tail.index.note(h)
	}
	j.catalog = catalog{
		index: tail.index, due: j.due, limit: o.SegmentBytes,
		newBytes: r.found.plain, snapshotBytes: int64(r.found.mark.bytes),
	}
	if n := len(r.numbers); n > 0 {
		j.catalog.sealed = append(j.catalog.sealed, r.numbers[:n-1]...)
	}
	j.catalog.signal()
	return j, nil
}

// Append puts a record behind all others and returns at once. Wait on the ticket returns
// when the record is durable. data is copied. Append blocks only while more than
// Options.MaxPending bytes wait for the disk.
func (j *Journal) Append(stream string, kind byte, data []byte) Ticket {
	if kind == 0 {
		return refusedTicket(ErrNoKind)
	}
	return j.enqueue(frame{kind: kind, data: data}, stream)
}

// Commit appends a record and waits until it is durable.
func (j *Journal) Commit(stream string, kind byte, data []byte) error {
	return j.Append(stream, kind, data).Wait()
}

func (j *Journal) enqueue(f frame, stream string) Ticket {
	if err := checkSize(stream, f.data); err != nil {
		return refusedTicket(err)
	}
	size := frameSize(len(stream), len(f.data))
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.refusal() == nil && j.pending > 0 && j.pending+size > int64(j.opt.MaxPending) {
		j.space.Wait()
	}
	if err := j.refusal(); err != nil {
		return refusedTicket(err)
	}
	if f.flags&flagBegin != 0 {
		j.startSegment()
	}
	return j.put(f, stream, size)
}

// put adds a frame to the current batch. j.mu is held.
func (j *Journal) put(f frame, stream string, size int64) Ticket {
	b := j.cur
	f.seq, f.nth = j.nextSeq, b.n
	b.buf = appendFrame(b.buf, f, stream)
	b.n++
	j.nextSeq++
	j.pending += size
	j.tail = b
	j.work.Signal()
	return Ticket{b: b, seq: f.seq}
}

// startSegment makes the next record the first of a new segment. j.mu is held.
func (j *Journal) startSegment() {
	if j.cur.n > 0 {
		j.queue = append(j.queue, j.cur)
		j.cur = newBatch(nil)
	}
	j.cur.roll = true
}

// refusal returns why nothing can be appended, or nil. j.mu is held.
func (j *Journal) refusal() error {
	switch {
	case j.err != nil:
		return j.err
	case j.opt.ReadOnly:
		return fmt.Errorf("append to %s: %w", j.dir, ErrReadOnly)
	case j.closing:
		return fmt.Errorf("append to %s: %w", j.dir, ErrClosed)
	}
	return nil
}

// Sync waits until everything appended before is durable.
func (j *Journal) Sync() error {
	j.mu.Lock()
	err, tail := j.err, j.tail
	j.mu.Unlock()
	if err != nil || tail == nil {
		return err
	}
	return Ticket{b: tail}.Wait()
}

// Failed returns a channel that is closed when the journal has stopped for good. Err
// returns the reason.
func (j *Journal) Failed() <-chan struct{} { return j.failed }

// Err returns nil, or the first failure, which wraps [ErrFailed].
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// Close writes and syncs what was appended, releases the lock and returns the
// first failure of the journal, if any. It may be called again and from several
// goroutines; each returns when the journal is closed.
func (j *Journal) Close() error {
	j.mu.Lock()
	j.closing = true
	j.work.Signal()
	j.space.Broadcast()
	j.mu.Unlock()
	<-j.done
	j.release.Do(func() { j.closeErr = errors.Join(j.Err(), j.endErr, j.lock.Close()) })
	return j.closeErr
}
