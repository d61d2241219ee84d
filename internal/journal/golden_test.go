package journal_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/journal/journaltest"
)

var update = flag.Bool("update", false, "write the golden segments of the current version")

// TestSegmentsOfVersion1AreStillRead holds the durable format: what was written
// once is read for ever.
func TestSegmentsOfVersion1AreStillRead(t *testing.T) {
	write := map[string]func(*journal.Journal){
		"testdata/v1-records.log": func(j *journal.Journal) {
			commit(t, j, "a", "one", "")
			commit(t, j, "an agent", "two")
		},
		"testdata/v1-checkpoint.log": func(j *journal.Journal) {
			snapshot(t, j, "a", "A", "", "B")
			commit(t, j, "a", "one")
		},
	}
	read := map[string][]string{
		"testdata/v1-records.log":    {"a:one", "a:", "an agent:two"},
		"testdata/v1-checkpoint.log": {"*a:A", "*:B", "a:one"},
	}
	for name, fill := range write {
		now := firstSegment(t, fill)
		if *update {
			if err := os.WriteFile(name, now, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		old, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		d := journaltest.New()
		d.WriteFile(firstPath, old)
		j := open(t, d, journal.Options{})
		clean(t, j)
		same(t, name, live(t, j), read[name])
		shut(t, j)
		// How snapshots fall into batches is a matter of time, so only single
		// commits are the same bytes each time.
		if name == "testdata/v1-records.log" && !bytes.Equal(now, old) {
			t.Error("the format changed: give it a new version and keep reading this one")
		}
	}
}

var firstPath = filepath.Join(dir, "0000000000000001.log")

func firstSegment(t *testing.T, fill func(*journal.Journal)) []byte {
	d := journaltest.New()
	j := open(t, d, journal.Options{})
	fill(j)
	shut(t, j)
	return contents(t, d, firstPath)
}
