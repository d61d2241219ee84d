package journal

import (
	"encoding/binary"
	"iter"
)

// hole is a stretch of a segment that holds no readable frame, or a jump in
// the sequence (off == end).
type hole struct {
	off, end int64
	from, to uint64 // the missing sequence numbers; from > to if none
}

// lost is the number of records that the hole has lost.
func (h hole) lost() uint64 {
	if h.from > h.to {
		return 0
	}
	return h.to - h.from + 1
}

// frames yields the readable frames of a segment, with true, and the unreadable stretches
// between them, with false, in order. A stretch has only off and size. Zeros behind the
// last frame are neither.
func frames(buf []byte, number uint64) iter.Seq2[frame, bool] {
	return func(yield func(frame, bool) bool) {
		s := finder{buf: buf, number: number, budget: 8*int64(len(buf)) + MaxRecord}
		pos := int64(segmentHead)
		for pos < int64(len(buf)) {
			f, ok := s.find(pos)
			end := f.off
			if !ok {
				end = lastNonZero(buf, pos)
			}
			if end > pos && !yield(frame{off: pos, size: end - pos}, false) {
				return
			}
			if !ok || !yield(f, true) {
				return
			}
			pos, s.last = f.off+f.size, f.seq
		}
	}
}

// finder finds frames. The budget bounds the bytes that are summed in vain, so that no
// file, however it is made, takes longer than reading it a few times.
type finder struct {
	buf    []byte
	number uint64
	last   uint64
	budget int64
}

// find returns the first frame at or behind pos.
func (s *finder) find(pos int64) (frame, bool) {
	for ; pos+headSize <= int64(len(s.buf)) && s.budget > 0; pos += frameAlign {
		if binary.LittleEndian.Uint32(s.buf[pos:]) != frameMagic {
			continue
		}
		if f, ok := s.at(pos); ok {
			return f, true
		}
	}
	return frame{}, false
}

func (s *finder) at(pos int64) (frame, bool) {
	size, ok := headOK(s.buf[pos:], s.number, pos)
	if !ok || pos+size > int64(len(s.buf)) {
		return frame{}, false
	}
	if !bodyOK(s.buf[pos : pos+size]) {
		s.budget -= size
		return frame{}, false
	}
	f := decode(s.buf[pos:pos+size], pos)
	return f, f.seq > s.last
}

// lastNonZero returns the end of the non-zero bytes behind pos, or pos.
func lastNonZero(buf []byte, pos int64) int64 {
	rest := buf[pos:]
	for len(rest) >= 8 && binary.LittleEndian.Uint64(rest[len(rest)-8:]) == 0 {
		rest = rest[:len(rest)-8]
	}
	for len(rest) > 0 && rest[len(rest)-1] == 0 {
		rest = rest[:len(rest)-1]
	}
	return pos + int64(len(rest))
}

// endMark is the data of the record that completes a checkpoint.
type endMark struct {
	begin     uint64 // seq of the begin mark
	segment   uint64 // that the begin mark lies in
	snapshots uint64
	bytes     uint64 // of the snapshots
	seq       uint64 // of the mark itself; not encoded
}

func (m endMark) encode() []byte {
	b := binary.LittleEndian.AppendUint64(nil, m.begin)
	b = binary.LittleEndian.AppendUint64(b, m.segment)
	b = binary.LittleEndian.AppendUint64(b, m.snapshots)
	return binary.LittleEndian.AppendUint64(b, m.bytes)
}

func decodeEndMark(f frame) (endMark, bool) {
	if len(f.data) != 32 {
		return endMark{}, false
	}
	m := endMark{
		begin: binary.LittleEndian.Uint64(f.data), segment: binary.LittleEndian.Uint64(f.data[8:]),
		snapshots: binary.LittleEndian.Uint64(f.data[16:]), bytes: binary.LittleEndian.Uint64(f.data[24:]), seq: f.seq,
	}
	return m, m.begin < m.seq
}

type snapshotAt struct {
	seq    uint64
	stream string
}

// segmentScan is what a scan of a segment has found.
type segmentScan struct {
	number    uint64
	headOK    bool
	base      uint64 // seq its first record has or would have; 0 if not known
	last      uint64 // seq of its last record; base-1 if none
	floor     uint64 // known durable before its last batch
	end       int64  // of the last frame
	dirty     int64  // where the last batch begins
	records   int    // of owners, with snapshots
	plain     int64  // bytes of owners' records, without snapshots
	holes     []hole
	snapshots []snapshotAt
	ends      []endMark
	index     *index // nil unless asked for
}

// empty reports whether no frame was found.
func (s *segmentScan) empty() bool { return s.base == 0 || s.last < s.base }

// scanSegment reads a segment. It does not decide what the holes mean.
func scanSegment(buf []byte, number uint64, ix *index) *segmentScan {
	s := &segmentScan{number: number, end: segmentHead, index: ix}
	s.base, s.headOK = decodeSegmentHead(buf, number)
	if s.headOK {
		s.last, s.floor = s.base-1, s.base-1
	}
	var bad *frame
	for f, ok := range frames(buf, number) {
		if !ok {
			bad = &f
			continue
		}
		s.gap(bad, f)
		s.add(f)
		bad = nil
	}
	if bad != nil {
		s.holes = append(s.holes, hole{bad.off, bad.off + bad.size, s.last + 1, maxSeq})
	}
	return s
}

// gap records what is missing before f.
func (s *segmentScan) gap(bad *frame, f frame) {
	if s.base == 0 {
		s.base, s.last = f.seq, f.seq-1
	}
	h := hole{f.off, f.off, s.last + 1, f.seq - 1}
	if bad != nil {
		h.off = bad.off
	}
	if h.off < h.end || h.lost() > 0 {
		s.holes = append(s.holes, h)
	}
}

func (s *segmentScan) add(f frame) {
	if fl := f.floor(); fl > s.floor {
		s.floor = fl
	}
	if f.nth == 0 || s.dirty == 0 {
		s.dirty = f.off
	}
	s.last, s.end = f.seq, f.off+f.size
	switch {
	case f.flags&flagEnd != 0:
		if m, ok := decodeEndMark(f); ok {
			s.ends = append(s.ends, m)
		}
	case f.flags&flagMarks != 0:
	case f.flags&flagSnapshot != 0:
		s.records++
		s.snapshots = append(s.snapshots, snapshotAt{f.seq, string(f.stream)})
	default:
		s.records++
		s.plain += f.size
		if s.index != nil {
			s.index.add(f)
		}
	}
}

// cut returns the hole at which the unacknowledged tail of the segment begins: the first
// one with a missing record that may not have been durable.
func (s *segmentScan) cut() (hole, bool) {
	for _, h := range s.holes {
		if h.lost() > 0 && h.to > s.floor {
			return h, true
		}
	}
	return hole{}, false
}
