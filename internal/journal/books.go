package journal

// books is what the journal remembers of its durable records: where they are
// and whether a checkpoint is due.
type books struct {
	sealed []uint64 // numbers of the segments before the active one
	index  *index   // of the active one

	due      chan struct{}
	limit    int64 // Options.SegmentBytes
	since    int64 // bytes of records since the last checkpoint began
	size     int64 // bytes of the last checkpoint's snapshots
	signaled bool
	stats    Stats
}

// Stats counts what happened since Open.
type Stats struct {
	Records  uint64 // durable, snapshots included
	Bytes    uint64 // durable, with framing
	Batches  uint64 // each was one write and one sync
	IndexErr error  // the last index file that could not be written; it will be rebuilt when needed
}

// Stats returns the counters. It may be called at any time.
func (j *Journal) Stats() Stats {
	j.booksMu.Lock()
	defer j.booksMu.Unlock()
	return j.books.stats
}

func (j *Journal) noteIndex(err error) {
	if err == nil {
		return
	}
	j.booksMu.Lock()
	defer j.booksMu.Unlock()
	j.books.stats.IndexErr = err
}

// enter books the frames of a batch written at off.
func (b *books) enter(buf []byte, off int64) {
	b.stats.Batches++
	b.stats.Bytes += uint64(len(buf))
	for len(buf) > 0 {
		f := decode(buf, off)
		b.frame(f)
		buf, off = buf[f.size:], off+f.size
	}
	b.index.end = off
	b.signal()
}

func (b *books) frame(f frame) {
	switch {
	case f.flags&flagBegin != 0:
		b.since = 0
	case f.flags&flagEnd != 0:
		m, _ := decodeEndMark(f)
		b.size = int64(m.bytes)
	case f.flags&flagMarks != 0:
	default:
		b.stats.Records++
		if f.plain() {
			b.since += f.size
			b.index.add(f)
		}
	}
}

// signal tells the owner, once, that a checkpoint is due.
func (b *books) signal() {
	if b.signaled || b.since <= max(b.limit, 2*b.size) {
		return
	}
	b.signaled = true
	select {
	case b.due <- struct{}{}:
	default:
	}
}
