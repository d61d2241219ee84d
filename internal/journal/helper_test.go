package journal_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/journal/journaltest"
)

const dir = "/node/journal"

func open(t testing.TB, d journal.FS, o journal.Options) *journal.Journal {
	t.Helper()
	o.FS = d
	if o.SegmentBytes == 0 {
		o.SegmentBytes = 64 << 10 // the disk is in memory: small is fast
	}
	j, err := journal.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func commit(t testing.TB, j *journal.Journal, stream string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := j.Commit(stream, 1, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
}

func shut(t testing.TB, j *journal.Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func show(r journal.Record) string {
	mark := ""
	if r.Snapshot {
		mark = "*"
	}
	return fmt.Sprintf("%s%s:%s", mark, r.Stream, r.Data)
}

// live returns what Live shows as "stream:data", snapshots with a star.
func live(t testing.TB, j *journal.Journal) []string {
	t.Helper()
	var out []string
	last := uint64(0)
	err := j.Live(func(r journal.Record) error {
		if r.Seq <= last {
			t.Errorf("record %d shown after %d", r.Seq, last)
		}
		last = r.Seq
		out = append(out, show(r))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func history(t testing.TB, j *journal.Journal, stream string) []string {
	t.Helper()
	var out []string
	for r, err := range j.History(stream) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, show(r))
	}
	return out
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

func clean(t testing.TB, j *journal.Journal) {
	t.Helper()
	if r := j.Report(); !r.Clean() {
		t.Errorf("report: %v", r)
	}
}

// segments returns the paths of the segment files, oldest first.
func segments(t testing.TB, d *journaltest.Disk) []string {
	t.Helper()
	names, err := d.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, n := range names {
		if strings.HasSuffix(n, ".log") {
			out = append(out, filepath.Join(dir, n))
		}
	}
	return out
}

func contents(t testing.TB, d *journaltest.Disk, path string) []byte {
	t.Helper()
	b, err := d.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// edit changes a file's bytes for good.
func edit(t testing.TB, d *journaltest.Disk, path string, change func([]byte) []byte) {
	t.Helper()
	d.WriteFile(path, change(contents(t, d, path)))
}

func snapshot(t testing.TB, j *journal.Journal, pairs ...string) {
	t.Helper()
	err := j.Checkpoint(func(snap func(string, []byte)) error {
		for i := 0; i < len(pairs); i += 2 {
			snap(pairs[i], []byte(pairs[i+1]))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func isFailed(t testing.TB, what string, err error) {
	t.Helper()
	if !errors.Is(err, journal.ErrFailed) {
		t.Errorf("%s = %v, want ErrFailed", what, err)
	}
}
