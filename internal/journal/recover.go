package journal

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
)

// findings is what Open has found. It does not change afterwards.
type findings struct {
	report   Report
	segments []uint64          // Live reads these
	end      int64             // of the records in the last of them
	mark     endMark           // of the checkpoint Live begins with; zero if none
	newest   map[string]uint64 // stream to the seq of its snapshot there
	plain    int64             // bytes of records since that checkpoint
}

// recovery is the state of one Open.
type recovery struct {
	fs   FS
	dir  string
	room int64

	readOnly bool

	names   []string
	numbers []uint64
	read    []*segmentScan // newest first while reading, then oldest first
	last    []byte         // bytes of the newest segment, without its torn tail
	torn    []byte
	found   findings
}

// run reads back to the newest usable checkpoint, reports damage and opens the newest
// segment for more records.
func (r *recovery) run() (*segment, *segmentScan, error) {
	if len(r.numbers) == 0 {
		r.found.segments, r.found.end = []uint64{1}, segmentHead
		r.found.report.Checkpoint = segmentName(1)
		empty := &segmentScan{number: 1, headOK: true, base: 1, end: segmentHead, index: newIndex(1)}
		if r.readOnly {
			r.found.segments = nil
			return nil, empty, nil
		}
		s, err := createSegment(r.fs, r.dir, 1, 1, r.room)
		return s, empty, err
	}
	if err := r.readBack(); err != nil {
		return nil, nil, err
	}
	slices.Reverse(r.read)
	r.report()
	tail := r.read[len(r.read)-1]
	if r.readOnly {
		r.noteTorn(tail, "")
		return nil, tail, nil
	}
	s, err := r.reopen(tail)
	return s, tail, err
}

// readBack reads segments, newest first, until it has a complete checkpoint.
func (r *recovery) readBack() error {
	var waiting []endMark
	for _, n := range slices.Backward(r.numbers) {
		s, err := r.readSegment(n)
		if err != nil {
			return err
		}
		r.read = append(r.read, s)
		r.found.report.Segments++
		r.found.report.Records += s.records
		r.found.plain += s.plain
		for _, m := range slices.Backward(s.ends) {
			waiting = append(waiting, m)
		}
		for len(waiting) > 0 && (waiting[0].segment >= n || n == r.numbers[0]) {
			if r.isComplete(waiting[0]) {
				r.found.mark = waiting[0]
				return nil
			}
			r.found.report.Skipped++
			waiting = waiting[1:]
		}
	}
	return nil
}

func (r *recovery) readSegment(n uint64) (*segmentScan, error) {
	buf, err := readAll(r.fs, filepath.Join(r.dir, segmentName(n)))
	if err != nil {
		return nil, err
	}
	if n != r.numbers[len(r.numbers)-1] {
		return scanSegment(buf, n, nil), nil
	}
	s := scanSegment(buf, n, newIndex(n))
	h, cut := s.cut()
	if s.empty() && !s.headOK {
		h, cut = hole{end: lastNonZero(buf, 0)}, true
	}
	if cut {
		r.torn = bytes.Clone(buf[h.off:lastNonZero(buf, h.off)])
		buf = buf[:h.off]
		s = r.rescan(buf, n, h, s.floor)
	}
	r.last = buf[:min(s.end, int64(len(buf)))]
	s.index.end = s.end
	return s, nil
}

// rescan scans what is left before a cut. A hole that began in durable records stays a
// hole.
func (r *recovery) rescan(buf []byte, n uint64, h hole, floor uint64) *segmentScan {
	s := scanSegment(buf, n, newIndex(n))
	if h.from > 0 && h.from <= floor {
		s.holes = append(s.holes, hole{h.off, h.off, h.from, floor})
		s.last = floor
	}
	return s
}

// isComplete reports whether every snapshot of the checkpoint was readable.
func (r *recovery) isComplete(m endMark) bool {
	newest, n := map[string]uint64{}, uint64(0)
	for _, s := range slices.Backward(r.read) {
		for _, at := range s.snapshots {
			if at.seq > m.begin && at.seq < m.seq {
				newest[at.stream] = at.seq
				n++
			}
		}
	}
	if n != m.snapshots {
		return false
	}
	r.found.newest = newest
	return true
}

// report adds holes, and what is missing between segments, to the report.
func (r *recovery) report() {
	for i, s := range r.read {
		r.found.segments = append(r.found.segments, s.number)
		if i > 0 {
			r.checkGap(r.read[i-1], s)
		}
		newest := i == len(r.read)-1
		if !s.headOK && !(newest && s.empty()) {
			r.damage(s, hole{end: segmentHead, from: 1}, "its head cannot be read")
		}
		for _, h := range s.holes {
			if h.to == maxSeq && !newest {
				h.to = max(h.from, r.read[i+1].base) - 1
			}
			r.damage(s, h, "these bytes are no records")
		}
	}
	tail := r.read[len(r.read)-1]
	if tail.base == 0 {
		tail.base, tail.last = 1, 0
	}
	r.found.end = tail.end
	r.found.report.Checkpoint = segmentName(r.read[0].number)
}

// checkGap reports records that are missing between two segments.
func (r *recovery) checkGap(prev, s *segmentScan) {
	if s.base == 0 {
		s.base, s.last = prev.last+1, prev.last
		for i := range s.holes {
			s.holes[i].from = s.base
		}
	}
	if s.number != prev.number+1 {
		lost := hole{from: prev.last + 1, to: s.base - 1}
		r.damage(&segmentScan{number: prev.number + 1}, lost, "the file is missing")
		return
	}
	trailing := len(prev.holes) > 0 && prev.holes[len(prev.holes)-1].to == maxSeq
	if prev.last+1 < s.base && !trailing {
		r.damage(prev, hole{prev.end, prev.end, prev.last + 1, s.base - 1}, "records at its end are missing")
	}
}

func (r *recovery) damage(s *segmentScan, h hole, reason string) {
	r.found.report.Damage = append(r.found.report.Damage, Damage{
		Segment: segmentName(s.number), Offset: h.off, Bytes: h.end - h.off, Records: h.lost(), Reason: reason,
	})
}

// reopen opens the newest segment for more records.
func (r *recovery) reopen(tail *segmentScan) (_ *segment, err error) {
	if err := r.keepTorn(tail); err != nil {
		return nil, err
	}
	f, err := r.fs.Create(filepath.Join(r.dir, segmentName(tail.number)))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	if err := f.Truncate(int64(len(r.last))); err != nil {
		return nil, err
	}
	s := &segment{number: tail.number, file: f, off: tail.end, alloc: max(r.room, tail.end)}
	if err := f.Preallocate(s.alloc); err != nil {
		return nil, err
	}
	return s, r.rewrite(s, tail)
}

// rewrite writes the last batch again. After a sync that failed, the system may hold
// pages that are marked clean and are not on disk; a second write marks them dirty.
func (r *recovery) rewrite(s *segment, tail *segmentScan) error {
	if !tail.headOK && tail.empty() {
		r.last = encodeSegmentHead(tail.number, tail.base)
	}
	if _, err := s.file.WriteAt(r.last[tail.dirty:], tail.dirty); err != nil {
		return err
	}
	if err := s.file.Sync(); err != nil {
		return err
	}
	return r.fs.SyncDir(r.dir)
}

// keepTorn copies the torn tail aside, durably, before it is cut.
func (r *recovery) keepTorn(tail *segmentScan) (err error) {
	if len(r.torn) == 0 {
		return nil
	}
	name := freeName(r.names, segmentName(tail.number)+tornSuffix)
	f, err := r.fs.Create(filepath.Join(r.dir, name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.WriteAt(r.torn, 0); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	r.noteTorn(tail, name)
	return r.fs.SyncDir(r.dir)
}

// noteTorn reports a torn tail, and the file that it was copied to; "" if to none.
func (r *recovery) noteTorn(tail *segmentScan, file string) {
	if len(r.torn) > 0 {
		r.found.report.Torn = &Torn{
			Segment: segmentName(tail.number), Offset: min(tail.end, int64(len(r.last))), Bytes: int64(len(r.torn)), File: file,
		}
	}
}

// freeName returns want, with a number behind it if the name is taken.
func freeName(names []string, want string) string {
	name := want
	for i := 2; i < math.MaxInt && slices.Contains(names, name); i++ {
		name = fmt.Sprintf("%s.%d", want, i)
	}
	return name
}
