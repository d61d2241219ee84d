package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/journal/journaltest"
)

func TestLawSnapshotReplacesEarlierRecords(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{})
	commit(t, j, "a", "a1")
	commit(t, j, "b", "b1")
	err := j.Checkpoint(func(snap func(string, []byte)) error {
		commit(t, j, "a", "a2") // in the checkpoint's own segment, before the snapshot
		snap("a", []byte("A"))
		commit(t, j, "a", "a3")
		snap("b", []byte("B"))
		commit(t, j, "new", "n1") // born meanwhile, has no snapshot
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	commit(t, j, "b", "b2")
	shut(t, j)
	j = open(t, d, journal.Options{})
	clean(t, j)
	same(t, "live", live(t, j), []string{"*a:A", "a:a3", "*b:B", "new:n1", "b:b2"})
	same(t, "history", history(t, j, "a"), []string{"a:a1", "a:a2", "a:a3"})
	shut(t, j)
}

func TestOnlyTheLastSnapshotOfAStreamIsReturned(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{})
	snapshot(t, j, "a", "first", "b", "B", "a", "second")
	shut(t, j)
	j = open(t, d, journal.Options{})
	same(t, "live", live(t, j), []string{"*b:B", "*a:second"})
	shut(t, j)
}

func TestAStreamLeftOutOfACheckpointIsOver(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{})
	commit(t, j, "gone", "1")
	commit(t, j, "a", "1")
	snapshot(t, j, "a", "A")
	shut(t, j)
	j = open(t, d, journal.Options{})
	same(t, "live", live(t, j), []string{"*a:A"})
	same(t, "history", history(t, j, "gone"), []string{"gone:1"})
	shut(t, j)
}

func TestLawIncompleteCheckpointIsPassedOver(t *testing.T) {
	want := []string{"*a:A1", "a:2", "a:3", "a:4"}
	t.Run("crash", func(t *testing.T) {
		d, j := checkpointed(t)
		err := j.Checkpoint(func(snap func(string, []byte)) error {
			snap("a", []byte("A2"))
			commit(t, j, "a", "4")
			d.Crash(journaltest.LoseUnsynced, nil)
			return nil
		})
		isFailed(t, "Checkpoint", err)
		j = open(t, d, journal.Options{})
		same(t, "live", live(t, j), want)
		clean(t, j)
		shut(t, j)
	})
	t.Run("error", func(t *testing.T) {
		d, j := checkpointed(t)
		sick := errors.New("the owner cannot")
		err := j.Checkpoint(func(snap func(string, []byte)) error {
			snap("a", []byte("A2"))
			return sick
		})
		if !errors.Is(err, sick) {
			t.Errorf("Checkpoint = %v", err)
		}
		commit(t, j, "a", "4")
		shut(t, j)
		j = open(t, d, journal.Options{})
		same(t, "live", live(t, j), want)
		snapshot(t, j, "a", "A3")
		shut(t, j)
		j = open(t, d, journal.Options{})
		same(t, "live after the next", live(t, j), []string{"*a:A3"})
		shut(t, j)
	})
	t.Run("refused snapshot", func(t *testing.T) {
		d, j := checkpointed(t)
		err := j.Checkpoint(func(snap func(string, []byte)) error {
			snap("a", []byte("A2"))
			snap(strings.Repeat("s", journal.MaxStream+1), nil)
			return nil
		})
		if !errors.Is(err, journal.ErrTooBig) {
			t.Errorf("Checkpoint = %v", err)
		}
		commit(t, j, "a", "4")
		shut(t, j)
		j = open(t, d, journal.Options{})
		same(t, "live", live(t, j), want)
		shut(t, j)
	})
}

// checkpointed returns a journal with a checkpoint and two records behind it.
func checkpointed(t *testing.T) (*journaltest.Disk, *journal.Journal) {
	d := journaltest.New()
	j := open(t, d, journal.Options{})
	commit(t, j, "a", "1")
	snapshot(t, j, "a", "A1")
	commit(t, j, "a", "2", "3")
	return d, j
}

func TestLawDamagedCheckpointIsPassedOver(t *testing.T) {
	d, j := checkpointed(t)
	snapshot(t, j, "a", "A2")
	commit(t, j, "a", "4")
	shut(t, j)
	files := segments(t, d)
	edit(t, d, files[len(files)-1], func(b []byte) []byte {
		b[bytes.Index(b, []byte("aA2"))] ^= 1
		return b
	})
	j = open(t, d, journal.Options{})
	same(t, "live", live(t, j), []string{"*a:A1", "a:2", "a:3", "a:4"})
	if r := j.Report(); r.Skipped != 1 || len(r.Damage) != 1 {
		t.Errorf("report %v", r)
	}
	shut(t, j)
}

func TestACheckpointMaySpanSegments(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{SegmentBytes: 200})
	var want []string
	err := j.Checkpoint(func(snap func(string, []byte)) error {
		for i := range 50 {
			snap(fmt.Sprint("s", i), []byte("snapshot"))
			want = append(want, fmt.Sprintf("*s%d:snapshot", i))
			if i%5 == 0 {
				commit(t, j, fmt.Sprint("s", i), "after")
				want = append(want, fmt.Sprintf("s%d:after", i))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(segments(t, d)); n < 3 {
		t.Errorf("%d segments", n)
	}
	shut(t, j)
	j = open(t, d, journal.Options{})
	clean(t, j)
	same(t, "live", live(t, j), want)
	shut(t, j)
}

func TestCheckpointDueSignalsOnce(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{SegmentBytes: 1000})
	due := func(what string, want bool) {
		t.Helper()
		if err := j.Sync(); err != nil {
			t.Fatal(err)
		}
		history(t, j, "") // waits until the last batch is booked
		select {
		case <-j.CheckpointDue():
			if !want {
				t.Errorf("%s: due", what)
			}
		default:
			if want {
				t.Errorf("%s: not due", what)
			}
		}
	}
	fill := func(bytes int) {
		for range bytes / 100 {
			if err := j.Commit("a", 1, make([]byte, 64)); err != nil {
				t.Fatal(err)
			}
		}
	}
	due("empty", false)
	fill(900)
	due("900 bytes", false)
	fill(400)
	due("1300 bytes", true)
	fill(1000)
	due("signaled already", false)
	snapshot(t, j, "a", strings.Repeat("x", 1000))
	fill(1500)
	due("1500 bytes after a checkpoint of 1000", false)
	fill(1000)
	due("2500 bytes after a checkpoint of 1000", true)
	shut(t, j)
	j = open(t, d, journal.Options{SegmentBytes: 1000})
	due("opened again", true)
	if err := j.Checkpoint(func(func(string, []byte)) error { return errors.New("no") }); err == nil {
		t.Error("no error")
	}
	due("after a failed one", false)
	fill(4000)
	due("4000 bytes after a failed one", true)
	shut(t, j)
}

func TestASnapAfterTheCheckpointDoesNothing(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{})
	var late func(string, []byte)
	err := j.Checkpoint(func(snap func(string, []byte)) error {
		late = snap
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	late("a", []byte("late"))
	shut(t, j)
	if n := j.Stats().Records; n != 0 {
		t.Errorf("it appended %d records", n)
	}
	j = open(t, d, journal.Options{})
	same(t, "live", live(t, j), nil)
	shut(t, j)
}

func TestLawOpeningCostsWhatIsLive(t *testing.T) {
	old := 1_000_000
	if testing.Short() {
		old = 50_000
	}
	cost := func(n int) (bytes int64, shown int) {
		d := journaltest.New()
		j := open(t, d, journal.Options{SegmentBytes: 1 << 20})
		for i := range n {
			j.Append("old", 1, []byte("0123456789abcdef"))
			if i == n/2 {
				snapshot(t, j, "old", "half way")
			}
		}
		snapshot(t, j, "old", "all of it", "other", "state")
		commit(t, j, "other", "1", "2", "3")
		shut(t, j)
		before := d.Counts().BytesRead
		j = open(t, d, journal.Options{SegmentBytes: 1 << 20})
		shown = len(live(t, j))
		bytes = d.Counts().BytesRead - before
		clean(t, j)
		shut(t, j)
		return bytes, shown
	}
	few, shownFew := cost(10)
	many, shownMany := cost(old)
	if shownFew != 5 || shownMany != 5 {
		t.Errorf("live shows %d and %d records, want 5", shownFew, shownMany)
	}
	if many != few {
		t.Errorf("%d bytes read with 10 old records, %d with %d", few, many, old)
	}
}

func TestHistoryReachesBackToTheBeginning(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{SegmentBytes: 500})
	want := map[string][]string{}
	for i := range 300 {
		stream, text := fmt.Sprint("s", i%7), fmt.Sprint(i)
		commit(t, j, stream, text)
		want[stream] = append(want[stream], stream+":"+text)
		if i%90 == 89 {
			snapshot(t, j, "s1", "S", "s2", "S")
		}
		same(t, "history at once", history(t, j, stream), want[stream])
	}
	check := func(what string) {
		t.Helper()
		for stream, records := range want {
			same(t, what+" "+stream, history(t, j, stream), records)
		}
	}
	check("running")
	shut(t, j)
	j = open(t, d, journal.Options{SegmentBytes: 500})
	check("opened again")
	if err := j.Stats().IndexErr; err != nil {
		t.Error(err)
	}
	shut(t, j)
	for _, harm := range []string{"missing", "wrong", "stale"} {
		names, err := d.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		intact := map[string][]byte{}
		for _, name := range names {
			if path := filepath.Join(dir, name); strings.HasSuffix(name, ".idx") {
				intact[path] = contents(t, d, path)
			}
		}
		if len(intact) < 10 {
			t.Fatalf("%d index files", len(intact))
		}
		for path := range intact {
			switch harm {
			case "missing":
				d.Remove(path)
			case "wrong":
				edit(t, d, path, func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
			case "stale":
				d.WriteFile(path, intact[filepath.Join(dir, fmt.Sprintf("%016x.idx", 1))])
			}
		}
		j = open(t, d, journal.Options{SegmentBytes: 500})
		check(harm)
		for path, b := range intact {
			if !bytes.Equal(contents(t, d, path), b) {
				t.Errorf("index %s: %s was not renewed", harm, path)
			}
		}
		shut(t, j)
	}
}

func TestHistoryReportsDamageInOldSegments(t *testing.T) {
	for _, index := range []string{"kept", "gone"} {
		t.Run("index "+index, func(t *testing.T) {
			d := journaltest.New()
			j := open(t, d, journal.Options{SegmentBytes: 200})
			for i := range 20 {
				commit(t, j, "a", fmt.Sprintf("text %02d", i))
			}
			snapshot(t, j, "a", "A")
			shut(t, j)
			edit(t, d, segments(t, d)[1], func(b []byte) []byte {
				b[bytes.Index(b, []byte("atext"))] ^= 1
				return b
			})
			if index == "gone" {
				d.Remove(filepath.Join(dir, fmt.Sprintf("%016x.idx", 2)))
			}
			j = open(t, d, journal.Options{SegmentBytes: 200})
			clean(t, j) // an old segment is not read by Open
			for range 2 {
				got, faults := yielded(j, "a")
				if len(got) != 19 || faults != 1 {
					t.Errorf("%d records and %d faults, want 19 and 1", len(got), faults)
				}
			}
			shut(t, j)
		})
	}
}

func TestHistoryMayBeLeftEarly(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{SegmentBytes: 200})
	for i := range 20 {
		commit(t, j, "a", fmt.Sprint(i))
	}
	for r, err := range j.History("a") {
		if err != nil {
			t.Fatal(err)
		}
		if string(r.Data) == "7" {
			break
		}
	}
	shut(t, j)
}
