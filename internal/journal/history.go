package journal

import (
	"errors"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
)

// History yields every record of one stream since the beginning, in order and without
// snapshots, up to what was durable when the iteration began. What cannot be read is
// yielded as an error, a [*Damage] where bytes were damaged (which may have been those
// of another stream), and the iteration goes on behind it unless the caller stops.
// Appends may go on meanwhile.
func (j *Journal) History(stream string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		sealed, active, entry := j.places(stream)
		due := uint64(1)
		for _, number := range sealed {
			if number != due && !yield(Record{}, missingSegment(due)) {
				return
			}
			due = number + 1
			e, err := j.sealedEntry(number, stream)
			if err != nil {
				if !yield(Record{}, err) {
					return
				}
				continue
			}
			if !j.replay(number, stream, e, yield) {
				return
			}
		}
		if active != due && !yield(Record{}, missingSegment(due)) {
			return
		}
		j.replay(active, stream, entry, yield)
	}
}

// places returns the sealed segments, the active one and its entry.
func (j *Journal) places(stream string) ([]uint64, uint64, entry) {
	j.catalogMu.Lock()
	defer j.catalogMu.Unlock()
	x := j.catalog.index
	return slices.Clone(j.catalog.sealed), x.number, x.entry(stream)
}

func missingSegment(number uint64) error {
	return &Damage{Segment: segmentName(number), Reason: "the file is missing"}
}

// sealedEntry loads an entry, and writes the index file again if it was unusable.
func (j *Journal) sealedEntry(number uint64, stream string) (entry, error) {
	j.indexMu.Lock()
	defer j.indexMu.Unlock()
	e, renew, err := loadEntry(j.fs, j.dir, number, stream)
	if errors.Is(err, fs.ErrNotExist) {
		return entry{}, missingSegment(number)
	}
	if err == nil && renew != nil && !j.opt.ReadOnly {
		j.noteIndex(renew.save(j.fs, j.dir))
	}
	return e, err
}

// replay yields one segment's records of a stream.
func (j *Journal) replay(number uint64, stream string, e entry, yield func(Record, error) bool) bool {
	for i := range e.damage {
		if !yield(Record{}, &e.damage[i]) {
			return false
		}
	}
	if len(e.offsets) == 0 {
		return true
	}
	f, err := j.fs.Open(filepath.Join(j.dir, segmentName(number)))
	if err != nil {
		return yield(Record{}, err)
	}
	more := replayFile(f, number, stream, e.offsets, yield)
	if err := f.Close(); err != nil && more {
		return yield(Record{}, err)
	}
	return more
}

func replayFile(f File, number uint64, stream string, offsets []uint32, yield func(Record, error) bool) bool {
	for _, at := range offsets {
		fr, err := readFrame(f, number, int64(at)*frameAlign)
		if err != nil {
			if !yield(Record{}, err) {
				return false
			}
			continue
		}
		if string(fr.stream) == stream && fr.plain() && !yield(fr.record(), nil) {
			return false
		}
	}
	return true
}
