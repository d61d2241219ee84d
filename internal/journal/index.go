package journal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"maps"
	"path/filepath"
	"slices"
)

// index lists where the records of each stream are in one segment.
type index struct {
	number  uint64
	end     int64
	streams map[string]*offsets
	damage  []Damage
}

// offsets are in units of frameAlign. The map holds a pointer to them, so that adding one
// needs no new key.
type offsets struct{ at []uint32 }

func newIndex(number uint64) *index {
	return &index{number: number, end: segmentHead, streams: map[string]*offsets{}}
}

func (x *index) add(f frame) {
	o := x.streams[string(f.stream)]
	if o == nil {
		o = &offsets{}
		x.streams[string(f.stream)] = o
	}
	o.at = append(o.at, uint32(f.off/frameAlign))
}

// entry returns what the index holds of one stream.
func (x *index) entry(stream string) entry {
	e := entry{damage: x.damage}
	if o := x.streams[stream]; o != nil {
		e.offsets = o.at
	}
	return e
}

// An index file, little endian: magic (8), segment number (8), end of the
// segment (8), then in varints the damaged stretches and, sorted by name, the
// streams, each with its offsets as differences; last a CRC-32C over all.
const indexMagic = "swarmjx\x01"

func (x *index) encode() []byte {
	b := binary.LittleEndian.AppendUint64([]byte(indexMagic), x.number)
	b = binary.LittleEndian.AppendUint64(b, uint64(x.end))
	b = binary.AppendUvarint(b, uint64(len(x.damage)))
	for _, d := range x.damage {
		b = binary.AppendUvarint(b, uint64(d.Offset))
		b = binary.AppendUvarint(b, uint64(d.Bytes))
		b = binary.AppendUvarint(b, d.Records)
		b = binary.AppendUvarint(b, uint64(len(d.Reason)))
		b = append(b, d.Reason...)
	}
	for _, name := range slices.Sorted(maps.Keys(x.streams)) {
		var offs []byte
		last := uint32(0)
		for _, at := range x.streams[name].at {
			offs = binary.AppendUvarint(offs, uint64(at-last))
			last = at
		}
		b = binary.AppendUvarint(b, uint64(len(name)))
		b = append(b, name...)
		b = binary.AppendUvarint(b, uint64(len(offs)))
		b = append(b, offs...)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// entry is what an index holds of one stream.
type entry struct {
	offsets []uint32
	damage  []Damage // of the segment, whatever stream it belonged to
}

var errIndex = errors.New("index file cannot be used")

// lookup finds a stream in an encoded index without unpacking the others.
func lookup(b []byte, number uint64, end int64, stream string) (entry, error) {
	const head = 24
	if len(b) < head+4 || string(b[:8]) != indexMagic {
		return entry{}, errIndex
	}
	body := b[:len(b)-4]
	if binary.LittleEndian.Uint32(b[len(body):]) != crc32.Checksum(body, castagnoli) ||
		binary.LittleEndian.Uint64(b[8:]) != number || binary.LittleEndian.Uint64(b[16:]) != uint64(end) {
		return entry{}, errIndex
	}
	d := decoder{b: body[head:]}
	e := entry{damage: d.damage(segmentName(number))}
	for len(d.b) > 0 && !d.bad {
		name, offs := d.bytes(), d.bytes()
		if string(name) == stream {
			e.offsets = unpack(offs)
			break
		}
	}
	if d.bad {
		return entry{}, errIndex
	}
	return e, nil
}

type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) bytes() []byte {
	n := d.uvarint()
	if n > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return nil
	}
	out := d.b[:n]
	d.b = d.b[n:]
	return out
}

func (d *decoder) damage(segment string) []Damage {
	var out []Damage
	for n := d.uvarint(); n > 0 && !d.bad; n-- {
		out = append(out, Damage{
			Segment: segment, Offset: int64(d.uvarint()), Bytes: int64(d.uvarint()),
			Records: d.uvarint(), Reason: string(d.bytes()),
		})
	}
	return out
}

func unpack(b []byte) []uint32 {
	d := decoder{b: b}
	var out []uint32
	last := uint32(0)
	for len(d.b) > 0 {
		last += uint32(d.uvarint())
		out = append(out, last)
	}
	return out
}

// save writes the index file. It need not be durable: its checksum shows damage.
func (x *index) save(fsys FS, dir string) (err error) {
	f, err := fsys.Create(filepath.Join(dir, indexName(x.number)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(x.encode(), 0)
	return err
}

// loadEntry reads one stream's entry of a sealed segment, from the index file
// or, when that is missing or wrong, from the segment; renew is then the index
// to save.
func loadEntry(fsys FS, dir string, number uint64, stream string) (e entry, renew *index, err error) {
	f, err := fsys.Open(filepath.Join(dir, segmentName(number)))
	if err != nil {
		return entry{}, nil, err
	}
	size, err := f.Size()
	if err := errors.Join(err, f.Close()); err != nil {
		return entry{}, nil, err
	}
	if b, err := readAll(fsys, filepath.Join(dir, indexName(number))); err == nil {
		if e, err := lookup(b, number, size, stream); err == nil {
			return e, nil, nil
		}
	}
	x, err := rebuild(fsys, dir, number)
	if err != nil {
		return entry{}, nil, err
	}
	return x.entry(stream), x, nil
}

// rebuild makes the index of a sealed segment from its records.
func rebuild(fsys FS, dir string, number uint64) (*index, error) {
	buf, err := readAll(fsys, filepath.Join(dir, segmentName(number)))
	if err != nil {
		return nil, err
	}
	x := newIndex(number)
	s := scanSegment(buf, number, x)
	x.end = int64(len(buf))
	if !s.headOK {
		x.damage = append(x.damage, Damage{
			Segment: segmentName(number), Bytes: segmentHead, Reason: "its head cannot be read",
		})
	}
	for _, h := range s.holes {
		x.note(h)
	}
	return x, nil
}

// note adds a hole to the damage of the index.
func (x *index) note(h hole) {
	d := Damage{
		Segment: segmentName(x.number), Offset: h.off, Bytes: h.end - h.off,
		Records: h.lost(), Reason: "these bytes are no records",
	}
	if h.to == maxSeq {
		d.Records = 0 // at the end of the segment: their number is not known here
	}
	x.damage = append(x.damage, d)
}

// readFrame reads and checks the one frame at off.
func readFrame(f File, number uint64, off int64) (frame, error) {
	buf := make([]byte, 1024)
	n, err := f.ReadAt(buf, off)
	if err != nil && !errors.Is(err, io.EOF) {
		return frame{}, err
	}
	size, ok := headOK(buf[:n], number, off)
	if ok && size > int64(n) {
		buf = make([]byte, size)
		if n, err = f.ReadAt(buf, off); err != nil && !errors.Is(err, io.EOF) {
			return frame{}, err
		}
	}
	if !ok || size > int64(n) || !bodyOK(buf[:size]) {
		return frame{}, &Damage{
			Segment: segmentName(number), Offset: off, Bytes: max(size, headSize), Records: 1,
			Reason: "a record of this stream cannot be read any more",
		}
	}
	return decode(buf[:size], off), nil
}
