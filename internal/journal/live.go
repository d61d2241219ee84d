package journal

import (
	"fmt"
	"path/filepath"
)

// Live calls fn with the records that rebuild every stream, in journal order: the
// stream's last snapshot in the newest complete checkpoint and all its records after
// that. For a stream without a snapshot there, these are the records since the
// checkpoint began. Call Live once, after Open and before the first Append. An error of
// fn ends it and is returned.
func (j *Journal) Live(fn func(Record) error) error {
	last := len(j.found.segments) - 1
	for i, n := range j.found.segments {
		buf, err := readAll(j.fs, filepath.Join(j.dir, segmentName(n)))
		if err != nil {
			return fmt.Errorf("replay journal %s: %w", j.dir, err)
		}
		if i == last {
			buf = buf[:min(j.found.end, int64(len(buf)))]
		}
		for f, ok := range frames(buf, n) {
			if !ok || !j.found.isLive(f) {
				continue
			}
			if err := fn(f.record()); err != nil {
				return fmt.Errorf("replay journal %s, record %d: %w", j.dir, f.seq, err)
			}
		}
	}
	return nil
}

// isLive reports whether Live returns the frame.
func (r *findings) isLive(f frame) bool {
	newest, has := r.newest[string(f.stream)]
	switch {
	case f.flags&flagMarks != 0:
		return false
	case f.flags&flagSnapshot != 0:
		return has && f.seq == newest
	case has:
		return f.seq > newest
	default:
		return f.seq > r.mark.begin
	}
}
