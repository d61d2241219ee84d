package journal_test

import (
	"path/filepath"
	"testing"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/journal/journaltest"
)

// FuzzOpen opens a directory whose only segment is arbitrary. It must open,
// show each record once and in order, report what it could not read, take new
// records, and find the same again.
func FuzzOpen(f *testing.F) {
	d := journaltest.New()
	j := open(f, d, journal.Options{})
	commit(f, j, "a", "one", "two")
	snapshot(f, j, "a", "A")
	commit(f, j, "b", "three")
	shut(f, j)
	for _, p := range segments(f, d) {
		f.Add(contents(f, d, p))
	}
	f.Add([]byte{})
	f.Add(make([]byte, 100))
	f.Add([]byte("swarmjl\x01"))
	path := filepath.Join(dir, "0000000000000001.log")
	f.Fuzz(func(t *testing.T, b []byte) {
		d := journaltest.New()
		d.WriteFile(path, b)
		j := open(t, d, journal.Options{SegmentBytes: 4096})
		before := live(t, j)
		r := j.Report()
		if len(before) == 0 && len(b) > 0 && b[0] != 0 && r.Clean() && r.Records == 0 && !headOnly(b) {
			t.Errorf("%d bytes were taken for an empty journal: %v", len(b), r)
		}
		yielded(j, "a")
		commit(t, j, "new", "record")
		shut(t, j)
		j = open(t, d, journal.Options{SegmentBytes: 4096})
		if j.Report().Torn != nil {
			t.Errorf("the second opening cut again: %v", j.Report())
		}
		same(t, "live again", live(t, j), append(before, "new:record"))
		shut(t, j)
	})
}

// headOnly reports whether b may be a good head and marks without records.
func headOnly(b []byte) bool { return len(b) >= 32 && string(b[:8]) == "swarmjl\x01" }

// FuzzIndex gives History arbitrary index files. They may cost time, never a
// record.
func FuzzIndex(f *testing.F) {
	d := journaltest.New()
	j := open(f, d, journal.Options{SegmentBytes: 100})
	commit(f, j, "a", "one", "two", "three", "four", "five", "six")
	shut(f, j)
	path := filepath.Join(dir, "0000000000000001.idx")
	f.Add(contents(f, d, path))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		d.Crash(journaltest.LoseNothing, nil)
		d.WriteFile(path, b)
		j := open(t, d, journal.Options{SegmentBytes: 100})
		same(t, "history", history(t, j, "a"), []string{"a:one", "a:two", "a:three", "a:four", "a:five", "a:six"})
		shut(t, j)
	})
}
