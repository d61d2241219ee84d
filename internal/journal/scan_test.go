package journal

import (
	"encoding/binary"
	"hash/crc32"
	"testing"
)

// TestScanGivesUpOnAFileMadeToBeSlow lays heads that are in order, each of a
// long record that is not, behind one another: each would be summed in vain.
func TestScanGivesUpOnAFileMadeToBeSlow(t *testing.T) {
	const number = 1
	buf := make([]byte, 4<<20)
	copy(buf, encodeSegmentHead(number, 1))
	for off := int64(segmentHead); off+headSize <= int64(len(buf)); off += headSize {
		head := appendFrame(nil, frame{seq: uint64(off), kind: 1}, "")
		binary.LittleEndian.PutUint32(head[4:], uint32(int64(len(buf))-off-headSize)&^7)
		binary.LittleEndian.PutUint32(head[28:], crc32.Update(place(number, off), castagnoli, head[:24]))
		copy(buf[off:], head)
	}
	s := finder{buf: buf, number: number, budget: 8*int64(len(buf)) + MaxRecord}
	start := s.budget
	if _, ok := s.find(segmentHead); ok {
		t.Fatal("found a record")
	}
	if s.budget > 0 || s.budget < -int64(len(buf)) {
		t.Errorf("summed %d bytes in vain, allowed %d", start-s.budget, start)
	}
	found := scanSegment(buf, number, nil)
	if len(found.holes) != 1 || found.holes[0].off != segmentHead {
		t.Errorf("holes %v", found.holes)
	}
}

func TestAFrameComesBackAsItWas(t *testing.T) {
	var buf []byte
	for i, stream := range []string{"", "a", "agent-12", "a name of some length"} {
		buf = appendFrame(buf, frame{seq: 100 + uint64(i), nth: uint32(i), kind: 9, data: []byte(stream + stream)}, stream)
	}
	stamp(buf, 7, segmentHead)
	whole := append(encodeSegmentHead(7, 100), buf...)
	n := 0
	for f, ok := range frames(whole, 7) {
		r := f.record()
		if !ok || r.Seq != 100+uint64(n) || r.Kind != 9 || string(r.Data) != r.Stream+r.Stream || f.floor() != 99 {
			t.Errorf("frame %d is %+v, %v", n, r, ok)
		}
		n++
	}
	if n != 4 {
		t.Errorf("%d frames", n)
	}
	for _, ok := range frames(whole, 8) {
		if ok {
			t.Error("read under another segment's number")
		}
	}
}
