package journal

// catalog records where the durable records are, and whether a checkpoint is due.
type catalog struct {
	sealed []uint64 // the segments before the active one, by number
	index  *index   // of the active one

	due           chan struct{}
	limit         int64 // Options.SegmentBytes
	newBytes      int64 // bytes of records since the last checkpoint began
	snapshotBytes int64 // bytes of the last checkpoint's snapshots
	signaled      bool
	stats         Stats
}

// Stats counts what happened since Open.
type Stats struct {
	Records  uint64 // durable, snapshots included
	Bytes    uint64 // durable, with framing
	Batches  uint64 // each was one write and one sync
	IndexErr error  // of the last index file that could not be written; it is rebuilt when needed
}

// Stats returns the counters. It may be called at any time.
func (j *Journal) Stats() Stats {
	j.catalogMu.Lock()
	defer j.catalogMu.Unlock()
	return j.catalog.stats
}

func (j *Journal) noteIndex(err error) {
	if err == nil {
		return
	}
	j.catalogMu.Lock()
	defer j.catalogMu.Unlock()
	j.catalog.stats.IndexErr = err
}

// addBatch adds the frames of a batch that was written at off.
func (b *catalog) addBatch(buf []byte, off int64) {
	b.stats.Batches++
	b.stats.Bytes += uint64(len(buf))
	for len(buf) > 0 {
		f := decode(buf, off)
		b.addFrame(f)
		buf, off = buf[f.size:], off+f.size
	}
	b.index.end = off
	b.signal()
}

func (b *catalog) addFrame(f frame) {
	switch {
	case f.flags&flagBegin != 0:
		b.newBytes = 0
	case f.flags&flagEnd != 0:
		m, _ := decodeEndMark(f)
		b.snapshotBytes = int64(m.bytes)
	case f.flags&flagMarks != 0:
	default:
		b.stats.Records++
		if f.plain() {
			b.newBytes += f.size
			b.index.add(f)
		}
	}
}

// signal sends the owner one value when a checkpoint is due.
func (b *catalog) signal() {
	if b.signaled || b.newBytes <= max(b.limit, 2*b.snapshotBytes) {
		return
	}
	b.signaled = true
	select {
	case b.due <- struct{}{}:
	default:
	}
}
