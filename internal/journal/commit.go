package journal

import (
	"errors"
	"path/filepath"
)

// commitAll is the committer: until the journal is closed and drained, it takes
// everything appended so far, writes it, syncs once and wakes the waiting callers.
func (j *Journal) commitAll() {
	defer close(j.done)
	for b := j.take(); b != nil; b = j.take() {
		if err := j.commit(b); err != nil {
			j.fail(b, err)
		} else {
			j.acknowledge(b)
		}
		j.recycle(b)
	}
	j.finish()
}

// take waits for the next batch; nil when closing and nothing is left.
func (j *Journal) take() *batch {
	j.mu.Lock()
	defer j.mu.Unlock()
	for len(j.queue) == 0 && j.cur.n == 0 && !j.closing {
		j.work.Wait()
	}
	if len(j.queue) > 0 {
		b := j.queue[0]
		j.queue = j.queue[1:]
		return b
	}
	if j.cur.n == 0 {
		return nil
	}
	b := j.cur
	j.cur = newBatch(j.free)
	j.free = nil
	return b
}

// commit makes a batch durable. After an error nothing more is written.
func (j *Journal) commit(b *batch) error {
	if err := j.Err(); err != nil {
		return err
	}
	s := j.active
	if s.off > segmentHead && (b.roll || s.off >= j.opt.SegmentBytes) {
		if err := j.roll(decode(b.buf, 0).seq); err != nil {
			return err
		}
		s = j.active
	}
	stamp(b.buf, s.number, s.off)
	if err := s.reserve(int64(len(b.buf)), j.opt.SegmentBytes/4); err != nil {
		return err
	}
	if _, err := s.file.WriteAt(b.buf, s.off); err != nil {
		return err
	}
	if err := s.file.Sync(); err != nil {
		return err
	}
	b.segment = s.number
	s.off += int64(len(b.buf))
	j.wrote = true
	return nil
}

// acknowledge wakes the callers that wait for the batch and adds it to the catalog. The
// catalog is locked before the first is woken, so that each finds its record in it.
func (j *Journal) acknowledge(b *batch) {
	j.catalogMu.Lock()
	close(b.done)
	j.catalog.addBatch(b.buf, j.active.off-int64(len(b.buf)))
	j.catalogMu.Unlock()
}

// recycle frees the space of a finished batch.
func (j *Journal) recycle(b *batch) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pending -= int64(len(b.buf))
	if cap(b.buf) <= keepBuffer && cap(b.buf) > cap(j.free) {
		j.free = b.buf
	}
	b.buf = nil
	j.space.Broadcast()
}

// fail records the first error, which every later call returns.
func (j *Journal) fail(b *batch, err error) {
	j.mu.Lock()
	if j.err == nil {
		j.err = stopError(filepath.Join(j.dir, segmentName(j.active.number)), err)
		close(j.failed)
	}
	b.err = j.err
	j.mu.Unlock()
	close(b.done)
}

// roll seals the active segment and begins the next. Its bytes are durable; cutting off
// the space that it did not need is not worth a sync.
func (j *Journal) roll(base uint64) error {
	s := j.active
	if err := s.file.Truncate(s.off); err != nil {
		return err
	}
	next, err := createSegment(j.fs, j.dir, s.number+1, base, j.opt.SegmentBytes)
	if err != nil {
		return err
	}
	j.active = next
	j.seal(next.number)
	return s.file.Close()
}

// seal writes the index of the segment that is full. The index can be rebuilt from the
// records, so a failure here is only reported by Stats.
func (j *Journal) seal(next uint64) {
	j.catalogMu.Lock()
	x := j.catalog.index
	j.catalog.sealed = append(j.catalog.sealed, x.number)
	j.catalog.index = newIndex(next)
	j.catalogMu.Unlock()
	j.indexMu.Lock()
	defer j.indexMu.Unlock()
	j.noteIndex(x.save(j.fs, j.dir))
}

// finish ends the journal with a mark, from which the next Open knows that the last
// records were durable.
func (j *Journal) finish() {
	if j.wrote && j.Err() == nil {
		j.mu.Lock()
		b := newBatch(nil)
		b.buf = appendFrame(nil, frame{seq: j.nextSeq, flags: flagClose}, "")
		j.mu.Unlock()
		if err := j.commit(b); err != nil {
			j.fail(b, err)
		}
	}
	var err error
	if j.Err() == nil {
		err = j.active.file.Truncate(j.active.off)
	}
	j.endErr = errors.Join(err, j.active.file.Close())
}
