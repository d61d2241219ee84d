package journal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"
)

// stub is a file of bytes whose operations fail on demand.
type stub struct {
	data                      []byte
	reads, reserved           int
	failRead                  int // the number of the read that fails
	failTruncate, failReserve error
	failedSync                error
}

var errDisk = errors.New("the disk fails")

func (s *stub) ReadAt(p []byte, off int64) (int, error) {
	if s.reads++; s.reads == s.failRead {
		return 0, errDisk
	}
	n := copy(p, s.data[min(off, int64(len(s.data))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
func (s *stub) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
func (s *stub) Close() error                           { return nil }
func (s *stub) Size() (int64, error)                   { return int64(len(s.data)), nil }
func (s *stub) Truncate(int64) error                   { return s.failTruncate }
func (s *stub) Sync() error                            { return s.failedSync }
func (s *stub) Preallocate(int64) error                { s.reserved++; return s.failReserve }

type stubs struct {
	FS
	file    *stub
	failDir error
}

func (s stubs) Create(string) (File, error) { return s.file, nil }
func (s stubs) SyncDir(string) error        { return s.failDir }

func TestASegmentThatCannotBeMadeIsNotUsed(t *testing.T) {
	for name, fsys := range map[string]stubs{
		"truncate": {file: &stub{failTruncate: errDisk}}, "reserve": {file: &stub{failReserve: errDisk}}, "sync": {file: &stub{failedSync: errDisk}}, "directory": {file: &stub{}, failDir: errDisk},
	} {
		if s, err := createSegment(fsys, "d", 1, 1, 100); !errors.Is(err, errDisk) || s != nil {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

func TestRoomIsReservedOnlyWhenItEnds(t *testing.T) {
	file := &stub{}
	s := &segment{file: file, off: 50, alloc: 100}
	for n, want := range map[int64]int{1: 0, 50: 0} {
		if err := s.reserve(n, 10); err != nil || file.reserved != want {
			t.Errorf("%d bytes are reserved %d times, %v", n, file.reserved, err)
		}
	}
	if err := s.reserve(51, 10); err != nil || file.reserved != 1 || s.alloc != 111 {
		t.Errorf("reserved %d times, up to %d, %v", file.reserved, s.alloc, err)
	}
}

func TestTheHeadOfASegmentIsItsOwn(t *testing.T) {
	head := func(change func(b []byte)) []byte {
		b := encodeSegmentHead(3, 7)
		change(b)
		binary.LittleEndian.PutUint32(b[28:], crc32.Checksum(b[:28], castagnoli))
		return b
	}
	for name, b := range map[string][]byte{
		"magic":      head(func(b []byte) { b[0]++ }),
		"number":     head(func(b []byte) { b[8]++ }),
		"no base":    head(func(b []byte) { binary.LittleEndian.PutUint64(b[16:], 0) }),
		"large base": head(func(b []byte) { binary.LittleEndian.PutUint64(b[16:], maxSeq+1) }),
		"short":      encodeSegmentHead(3, 7)[:segmentHead-1],
		"sum":        append(encodeSegmentHead(3, 7)[:28], 0, 0, 0, 0),
	} {
		if _, ok := decodeSegmentHead(b, 3); ok {
			t.Errorf("%s: the head is taken", name)
		}
	}
	for _, want := range []uint64{1, 7, maxSeq} {
		if base, ok := decodeSegmentHead(encodeSegmentHead(3, want), 3); !ok || base != want {
			t.Errorf("base %d comes back as %d, %v", want, base, ok)
		}
	}
}

func TestTheHeadOfARecordHasLimits(t *testing.T) {
	head := func(body uint32, name uint16, seq uint64, nth uint32) []byte {
		b := make([]byte, headSize)
		binary.LittleEndian.PutUint32(b, frameMagic)
		binary.LittleEndian.PutUint32(b[4:], body)
		binary.LittleEndian.PutUint64(b[8:], seq)
		binary.LittleEndian.PutUint32(b[16:], nth)
		binary.LittleEndian.PutUint16(b[22:], name)
		binary.LittleEndian.PutUint32(b[28:], crc32.Update(place(1, 64), castagnoli, b[:24]))
		return b
	}
	for name, c := range map[string]struct {
		head []byte
		ok   bool
	}{
		"largest":          {head(MaxRecord+MaxStream, 5, maxSeq, 4), true},
		"too large":        {head(MaxRecord+MaxStream+1, 5, 9, 0), false},
		"only a name":      {head(5, 5, 9, 0), true},
		"name beyond":      {head(4, 5, 9, 0), false},
		"no number":        {head(9, 5, 0, 0), false},
		"number too large": {head(9, 5, maxSeq+1, 0), false},
		"last of a batch":  {head(9, 5, 9, 8), true},
		"nth too large":    {head(9, 5, 9, 9), false},
		"short":            {head(9, 5, 9, 0)[:headSize-1], false},
	} {
		if _, ok := headOK(c.head, 1, 64); ok != c.ok {
			t.Errorf("%s: taken %v, want %v", name, ok, c.ok)
		}
	}
}

func TestAnIndexComesBackAsItWas(t *testing.T) {
	x := newIndex(5)
	x.end = 4096
	x.streams["a"] = &offsets{at: []uint32{4, 9, 200}}
	x.streams["b"] = &offsets{at: []uint32{5}}
	x.damage = []Damage{{Segment: segmentName(5), Offset: 40, Bytes: 64, Records: 2, Reason: "torn"}}
	for stream, want := range map[string][]uint32{"a": {4, 9, 200}, "b": {5}, "none": nil} {
		e, err := lookup(x.encode(), 5, 4096, stream)
		if err != nil || !slices.Equal(e.offsets, want) || !slices.Equal(e.damage, x.damage) {
			t.Errorf("%s: %+v, %v", stream, e, err)
		}
	}
	for name, b := range map[string][]byte{"another segment": x.encode(), "cut": x.encode()[:30], "empty": nil} {
		number := uint64(5)
		if name == "another segment" {
			number = 6
		}
		if _, err := lookup(b, number, 4096, "a"); !errors.Is(err, errIndex) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := lookup(x.encode(), 5, 4097, "a"); !errors.Is(err, errIndex) {
		t.Errorf("of a segment that has grown: %v", err)
	}
}

func TestAReadThatFailsIsNoDamage(t *testing.T) {
	body := strings.Repeat("x", 5000)
	buf := appendFrame(nil, frame{seq: 1, kind: 9, data: []byte(body)}, "s")
	stamp(buf, 1, 0)
	if f, err := readFrame(&stub{data: buf}, 1, 0); err != nil || string(f.data) != body {
		t.Errorf("%d bytes, %v", len(f.data), err)
	}
	for fail := 1; fail <= 2; fail++ {
		var damage *Damage
		if _, err := readFrame(&stub{data: buf, failRead: fail}, 1, 0); !errors.Is(err, errDisk) || errors.As(err, &damage) {
			t.Errorf("read %d fails: %v", fail, err)
		}
	}
	var damage *Damage
	if _, err := readFrame(&stub{data: buf[:4000]}, 1, 0); !errors.As(err, &damage) || damage.Bytes != int64(len(buf)) {
		t.Errorf("a cut record: %v", err)
	}
}

func TestOnlyAHoleWithRecordsThatWereNotDurableIsCut(t *testing.T) {
	for name, c := range map[string]struct {
		hole hole
		cut  bool
	}{
		"nothing is missing":   {hole{from: 9, to: 8}, false},
		"durable":              {hole{from: 3, to: 5}, false},
		"the last was not":     {hole{from: 3, to: 6}, true},
		"one, not yet durable": {hole{from: 6, to: 6}, true},
	} {
		if _, cut := (&segmentScan{floor: 5, holes: []hole{c.hole}}).cut(); cut != c.cut {
			t.Errorf("%s: cut %v", name, cut)
		}
	}
}

func TestTheFirstErrorOfAnIndexStays(t *testing.T) {
	j := &Journal{}
	j.noteIndex(nil)
	if err := j.Stats().IndexErr; err != nil {
		t.Error(err)
	}
	j.noteIndex(errDisk)
	j.noteIndex(nil)
	if err := j.Stats().IndexErr; !errors.Is(err, errDisk) {
		t.Error(err)
	}
}

func TestDamageAndReportsAreReadable(t *testing.T) {
	d := Damage{Segment: "00000002", Offset: 64, Bytes: 128, Records: 3, Reason: "torn"}
	for _, part := range []string{"00000002", "byte 64", "torn", "128 bytes", "3 records"} {
		if !strings.Contains(d.Error(), part) {
			t.Errorf("%q lacks %q", d.Error(), part)
		}
	}
	if got := (Report{Checkpoint: "c"}).String(); strings.Contains(got, "passed over") || strings.Contains(got, "cut") {
		t.Errorf("nothing happened: %s", got)
	}
	got := Report{Checkpoint: "c", Skipped: 1, Damage: []Damage{d}}.String()
	if !strings.Contains(got, "1 damaged checkpoints passed over") || !strings.Contains(got, "torn") {
		t.Errorf("it says %s", got)
	}
}

func TestAJournalThatIsNewBeginsWithItsFirstSegment(t *testing.T) {
	j, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}()
	if r := j.Report(); r.Checkpoint != segmentName(1) || r.Records != 0 {
		t.Errorf("it reports %+v", r)
	}
}
