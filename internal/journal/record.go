package journal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Limits of one record, in bytes.
const (
	MaxRecord = 64 << 20 // of Record.Data
	MaxStream = 1<<16 - 1
)

// Record is one entry of the journal.
type Record struct {
	Seq      uint64 // place in the one order, from 1
	Stream   string // the stream it belongs to
	Kind     byte   // the owner's tag; 0 only in a snapshot
	Snapshot bool   // Data replaces everything before it in the stream
	Data     []byte // the receiver may keep and change it
}

// A frame is a record in a segment, little endian:
//
//	 0  magic    u32
//	 4  length   u32  of stream and data
//	 8  seq      u64
//	16  nth      u32  place in its batch, from 0
//	20  kind     u8
//	21  flags    u8
//	22  stream   u16  length of the stream's name
//	24  body sum u32  CRC-32C over place, bytes 0-23, stream and data
//	28  head sum u32  CRC-32C over place and bytes 0-23
//	32  stream, data, zeros up to a multiple of 8
//
// The sums begin with the frame's place (segment number and offset), so that a
// frame copied elsewhere, as in the payload of another record, is not a frame.
// All records up to seq-nth-1 were durable before the frame was written.
const (
	frameMagic = 0x6a6c7773
	headSize   = 32
	frameAlign = 8
	maxSeq     = 1 << 62
)

const (
	flagSnapshot = 1 << iota
	flagBegin    // a checkpoint begins; always first in its segment
	flagEnd      // a checkpoint is complete; the data is an endMark
	flagClose    // the journal was closed in good order
	flagMarks    = flagBegin | flagEnd | flagClose
)

type frame struct {
	off    int64
	size   int64 // with padding
	seq    uint64
	nth    uint32
	kind   byte
	flags  byte
	stream []byte
	data   []byte
}

func (f frame) record() Record {
	return Record{
		Seq: f.seq, Stream: string(f.stream), Kind: f.kind,
		Snapshot: f.flags&flagSnapshot != 0, Data: append([]byte{}, f.data...),
	}
}

// plain reports whether the frame is an owner's record: no snapshot, no mark.
func (f frame) plain() bool { return f.flags&(flagMarks|flagSnapshot) == 0 }

// floor is the last record that was durable before the frame was written.
func (f frame) floor() uint64 { return f.seq - 1 - uint64(f.nth) }

func frameSize(stream, data int) int64 {
	n := int64(headSize) + int64(stream) + int64(data)
	return (n + frameAlign - 1) &^ (frameAlign - 1)
}

// checkSize refuses what a frame cannot hold.
func checkSize(stream string, data []byte) error {
	switch {
	case len(stream) > MaxStream:
		return fmt.Errorf("append: stream name of %d bytes, at most %d fit: %w", len(stream), MaxStream, ErrTooBig)
	case len(data) > MaxRecord:
		return fmt.Errorf("append to %s: %d bytes, at most %d fit, put it into a file and record its name: %w",
			stream, len(data), MaxRecord, ErrTooBig)
	}
	return nil
}

// appendFrame appends f to buf. Its sums are set by stamp, once its place is known.
func appendFrame(buf []byte, f frame, stream string) []byte {
	var head [headSize]byte
	binary.LittleEndian.PutUint32(head[0:], frameMagic)
	binary.LittleEndian.PutUint32(head[4:], uint32(len(stream)+len(f.data)))
	binary.LittleEndian.PutUint64(head[8:], f.seq)
	binary.LittleEndian.PutUint32(head[16:], f.nth)
	head[20], head[21] = f.kind, f.flags
	binary.LittleEndian.PutUint16(head[22:], uint16(len(stream)))
	var pad [frameAlign]byte
	fill := frameSize(len(stream), len(f.data)) - headSize - int64(len(stream)) - int64(len(f.data))
	buf = append(append(append(buf, head[:]...), stream...), f.data...)
	return append(buf, pad[:fill]...)
}

// stamp sets the sums of the frames in buf, which will lie at off.
func stamp(buf []byte, segment uint64, off int64) {
	for len(buf) > 0 {
		body := int64(binary.LittleEndian.Uint32(buf[4:]))
		head := crc32.Update(place(segment, off), castagnoli, buf[:24])
		binary.LittleEndian.PutUint32(buf[24:], crc32.Update(head, castagnoli, buf[headSize:headSize+body]))
		binary.LittleEndian.PutUint32(buf[28:], head)
		size := frameSize(0, int(body))
		buf, off = buf[size:], off+size
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// place mixes a frame's position into the start value of its sums. Equal bytes
// under different start values always have different sums.
func place(segment uint64, off int64) uint32 {
	x := segment*0x9e3779b97f4a7c15 ^ uint64(off)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return uint32(x ^ x>>31)
}

// decode reads a frame that begins at buf[0] and is trusted: it was just
// encoded or has been checked.
func decode(buf []byte, off int64) frame {
	body := int64(binary.LittleEndian.Uint32(buf[4:]))
	name := int64(binary.LittleEndian.Uint16(buf[22:]))
	return frame{
		off: off, size: frameSize(0, int(body)),
		seq: binary.LittleEndian.Uint64(buf[8:]), nth: binary.LittleEndian.Uint32(buf[16:]),
		kind: buf[20], flags: buf[21],
		stream: buf[headSize : headSize+name], data: buf[headSize+name : headSize+body : headSize+body],
	}
}

// headOK checks the first 32 bytes of a frame at off and returns its size.
func headOK(head []byte, segment uint64, off int64) (size int64, ok bool) {
	if len(head) < headSize || binary.LittleEndian.Uint32(head) != frameMagic {
		return 0, false
	}
	if crc32.Update(place(segment, off), castagnoli, head[:24]) != binary.LittleEndian.Uint32(head[28:]) {
		return 0, false
	}
	body, name := binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint16(head[22:])
	seq, nth := binary.LittleEndian.Uint64(head[8:]), binary.LittleEndian.Uint32(head[16:])
	if body > MaxRecord+MaxStream || uint32(name) > body || seq == 0 || seq > maxSeq || uint64(nth) >= seq {
		return 0, false
	}
	return frameSize(0, int(body)), true
}

// bodyOK checks the rest of a frame whose head is in order.
func bodyOK(buf []byte) bool {
	body := binary.LittleEndian.Uint32(buf[4:])
	head := binary.LittleEndian.Uint32(buf[28:])
	return crc32.Update(head, castagnoli, buf[headSize:headSize+body]) == binary.LittleEndian.Uint32(buf[24:])
}
