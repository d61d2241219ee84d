package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A segment is one file of the journal. Its first bytes, little endian:
//
//	 0  magic and version  8 bytes
//	 8  number             u64  as in the file name
//	16  base               u64  seq of its first record; all before were durable
//	24  zero               u32
//	28  sum                u32  CRC-32C over bytes 0-27
const (
	segmentMagic  = "swarmjl\x01"
	segmentSuffix = ".log"
	indexSuffix   = ".idx"
	tornSuffix    = ".torn"
	segmentHead   = 32
	lockName      = "LOCK"
)

func segmentName(number uint64) string { return fmt.Sprintf("%016x%s", number, segmentSuffix) }
func indexName(number uint64) string   { return fmt.Sprintf("%016x%s", number, indexSuffix) }

// segmentNumbers returns the segments among the names of a directory, oldest first.
func segmentNumbers(names []string) []uint64 {
	var out []uint64
	for _, name := range names {
		digits, ok := strings.CutSuffix(name, segmentSuffix)
		if !ok || len(digits) != 16 {
			continue
		}
		n, err := strconv.ParseUint(digits, 16, 64)
		if err == nil && n > 0 && segmentName(n) == name {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

func encodeSegmentHead(number, base uint64) []byte {
	b := make([]byte, segmentHead)
	copy(b, segmentMagic)
	binary.LittleEndian.PutUint64(b[8:], number)
	binary.LittleEndian.PutUint64(b[16:], base)
	binary.LittleEndian.PutUint32(b[28:], crc32.Checksum(b[:28], castagnoli))
	return b
}

func decodeSegmentHead(b []byte, number uint64) (base uint64, ok bool) {
	if len(b) < segmentHead || string(b[:8]) != segmentMagic ||
		binary.LittleEndian.Uint32(b[28:]) != crc32.Checksum(b[:28], castagnoli) ||
		binary.LittleEndian.Uint64(b[8:]) != number {
		return 0, false
	}
	base = binary.LittleEndian.Uint64(b[16:])
	return base, base > 0 && base <= maxSeq
}

// segment is the file that grows. Only the committer uses it.
type segment struct {
	number uint64
	file   File
	off    int64 // end of the records
	alloc  int64 // reserved up to here
}

// createSegment makes the file durable, with its name, before it is used.
func createSegment(fsys FS, dir string, number, base uint64, room int64) (*segment, error) {
	f, err := fsys.Create(filepath.Join(dir, segmentName(number)))
	if err != nil {
		return nil, err
	}
	err = func() error {
		if err := f.Truncate(0); err != nil {
			return err
		}
		if err := f.Preallocate(room); err != nil {
			return err
		}
		if _, err := f.WriteAt(encodeSegmentHead(number, base), 0); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		return fsys.SyncDir(dir)
	}()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &segment{number: number, file: f, off: segmentHead, alloc: room}, nil
}

// reserve preallocates space, so that writing the next n bytes does not change the file's
// size.
func (s *segment) reserve(n, step int64) error {
	if s.off+n <= s.alloc {
		return nil
	}
	want := s.off + n + step
	if err := s.file.Preallocate(want); err != nil {
		return err
	}
	s.alloc = want
	return nil
}

// readAll returns the whole file.
func readAll(fsys FS, path string) (buf []byte, err error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	buf = make([]byte, size)
	n, err := f.ReadAt(buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return buf[:n], nil
}
