package journal

import (
	"fmt"
	"strings"
)

// Torn is the unacknowledged end that a crash has left.
type Torn struct {
	Segment string // file name inside the directory
	Offset  int64  // where the segment was cut
	Bytes   int64  // set aside
	File    string // the file that they were moved to; "" with Options.ReadOnly
}

// Report is what Open found in the segments it read.
type Report struct {
	Torn       *Torn    // nil after a clean end
	Damage     []Damage // in durable bytes, in journal order
	Records    int      // readable records, snapshots included, marks not
	Segments   int      // segments read
	Checkpoint string   // the segment Live begins with
	Skipped    int      // checkpoints that were skipped since a snapshot of them cannot be read
}

// Clean reports whether nothing was torn or damaged.
func (r Report) Clean() bool { return r.Torn == nil && len(r.Damage) == 0 && r.Skipped == 0 }

func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d records in %d segments from %s", r.Records, r.Segments, r.Checkpoint)
	switch {
	case r.Torn != nil && r.Torn.File == "":
		fmt.Fprintf(&b, "; %d unacknowledged bytes at the end of %s from %d on, to be cut and kept aside at the next start",
			r.Torn.Bytes, r.Torn.Segment, r.Torn.Offset)
	case r.Torn != nil:
		fmt.Fprintf(&b, "; %d unacknowledged bytes cut from %s at %d, kept in %s",
			r.Torn.Bytes, r.Torn.Segment, r.Torn.Offset, r.Torn.File)
	}
	for i := range r.Damage {
		fmt.Fprintf(&b, "; %v", &r.Damage[i])
	}
	if r.Skipped > 0 {
		fmt.Fprintf(&b, "; %d damaged checkpoints passed over", r.Skipped)
	}
	return b.String()
}

// Report returns what Open found.
func (j *Journal) Report() Report {
	r := j.found.report
	r.Damage = append([]Damage(nil), r.Damage...)
	return r
}
