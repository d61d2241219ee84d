package journal_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/journal/journaltest"
)

// TestEverythingAtOnce runs every method from many goroutines while segments
// roll; its use is under the race detector. It also holds that a record is in
// History once its commit is acknowledged.
func TestEverythingAtOnce(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{SegmentBytes: 2000, MaxPending: 4000})
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			stream := fmt.Sprint("s", w)
			for i := range 60 {
				commit(t, j, stream, fmt.Sprint(i))
				if i%20 == 0 {
					if n := len(history(t, j, stream)); n != i+1 {
						t.Errorf("%d records in history after %d commits", n, i+1)
					}
				}
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			for range 10 {
				snapshot(t, j, "s0", "S", "s1", "S")
				if err := j.Sync(); err != nil {
					t.Error(err)
				}
				if err := j.Err(); err != nil {
					t.Error(err)
				}
				select {
				case <-j.CheckpointDue():
				case <-j.Failed():
				default:
				}
				j.Report()
				j.Stats()
			}
		})
	}
	wg.Wait()
	shut(t, j)
	j = open(t, d, journal.Options{SegmentBytes: 2000})
	clean(t, j)
	for w := range 6 {
		if n := len(history(t, j, fmt.Sprint("s", w))); n != 60 {
			t.Errorf("%d of 60 records of stream %d", n, w)
		}
	}
	shut(t, j)
}
