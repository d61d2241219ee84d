package journal_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/journal/journaltest"
)

func TestLawTornTailIsCutAndKeptAside(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{})
	commit(t, j, "a", "one", "two, which is longer than what follows it")
	d.Crash(journaltest.LoseNothing, nil)
	path := segments(t, d)[0]
	var tail []byte
	edit(t, d, path, func(b []byte) []byte { // the last record loses its second half
		end := len(bytes.TrimRight(b, "\x00"))
		at := bytes.LastIndex(b, []byte("atwo")) - 32
		tail = bytes.Clone(b[at : end-2])
		clear(b[end-2 : end])
		return b
	})
	j = open(t, d, journal.Options{})
	r := j.Report()
	if r.Torn == nil || r.Torn.Segment != filepath.Base(path) || r.Torn.Bytes != int64(len(tail)) {
		t.Fatalf("report %v", r)
	}
	if kept := contents(t, d, filepath.Join(dir, r.Torn.File)); !bytes.Equal(tail, kept) {
		t.Errorf("kept aside %x, want %x", kept, tail)
	}
	if len(r.Damage) != 0 {
		t.Errorf("a torn tail is no damage: %v", r)
	}
	same(t, "live", live(t, j), []string{"a:one"})
	commit(t, j, "a", "three")
	shut(t, j)
	j = open(t, d, journal.Options{})
	clean(t, j)
	same(t, "live", live(t, j), []string{"a:one", "a:three"})
	shut(t, j)
}

func TestASecondTornTailDoesNotOverwriteTheFirst(t *testing.T) {
	d := journaltest.New()
	files := map[string]bool{}
	for range 3 {
		j := open(t, d, journal.Options{})
		if torn := j.Report().Torn; torn != nil {
			files[torn.File] = true
		}
		commit(t, j, "a", "x")
		d.FailWrite(1)
		isFailed(t, "commit", j.Commit("a", 1, bytes.Repeat([]byte("x"), 100)))
		d.Crash(journaltest.LoseNothing, nil)
	}
	if len(files) != 2 {
		t.Errorf("kept aside: %v, want two files", files)
	}
}

// batch appends texts so that they are one batch: the committer is held in the
// sync of a record before.
func batch(t *testing.T, d *journaltest.Disk, j *journal.Journal, texts ...string) []journal.Ticket {
	t.Helper()
	gate, held := make(chan struct{}), make(chan struct{}, 100)
	d.BeforeSync(func() { held <- struct{}{}; <-gate })
	j.Append("a", 1, []byte("before"))
	<-held
	var out []journal.Ticket
	for _, text := range texts {
		out = append(out, j.Append("a", 1, []byte(text)))
	}
	d.BeforeSync(nil)
	close(gate)
	return out
}

func TestLawABatchHasNoHoles(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{})
	tickets := batch(t, d, j, "one", "two", "three", "four")
	if err := tickets[3].Wait(); err != nil {
		t.Fatal(err)
	}
	d.Crash(journaltest.LoseNothing, nil)
	edit(t, d, segments(t, d)[0], func(b []byte) []byte { // a sector that never arrived
		at := bytes.Index(b, []byte("atwo"))
		clear(b[at-32 : at+8])
		return b
	})
	j = open(t, d, journal.Options{})
	if r := j.Report(); r.Torn == nil || len(r.Damage) > 0 {
		t.Errorf("report %v", r)
	}
	same(t, "live", live(t, j), []string{"a:before", "a:one"})
	commit(t, j, "a", "new") // as long as the record that never arrived
	d.Crash(journaltest.LoseNothing, nil)
	j = open(t, d, journal.Options{})
	clean(t, j)
	same(t, "live again", live(t, j), []string{"a:before", "a:one", "a:new"})
	shut(t, j)
}

func TestLawDamageInTheMiddleIsReported(t *testing.T) {
	for _, kind := range []string{"zeroed", "flipped", "overwritten"} {
		t.Run(kind, func(t *testing.T) {
			d := journaltest.New()
			j := open(t, d, journal.Options{})
			commit(t, j, "a", "one", "two", "three", "four")
			shut(t, j)
			path := segments(t, d)[0]
			at := 0
			edit(t, d, path, func(b []byte) []byte {
				at = bytes.Index(b, []byte("atwo")) - 32
				damage(b[at:at+40], kind)
				return b
			})
			j = open(t, d, journal.Options{})
			r := j.Report()
			want := journal.Damage{
				Segment: filepath.Base(path), Offset: int64(at), Bytes: 40, Records: 1,
				Reason: "these bytes are no records",
			}
			if len(r.Damage) != 1 || r.Damage[0] != want || r.Torn != nil {
				t.Errorf("report %v, want %+v", r, want)
			}
			if !strings.Contains(r.String(), filepath.Base(path)) {
				t.Errorf("report does not name the file: %s", r)
			}
			same(t, "live", live(t, j), []string{"a:one", "a:three", "a:four"})
			got, faults := yielded(j, "a")
			same(t, "history", got, []string{"a:one", "a:three", "a:four"})
			if faults != 1 {
				t.Errorf("history tells of %d damaged places, want 1", faults)
			}
			shut(t, j)
		})
	}
}

func damage(b []byte, kind string) {
	switch kind {
	case "zeroed":
		clear(b)
	case "flipped":
		b[33] ^= 4
	default:
		copy(b, bytes.Repeat([]byte("garbage "), len(b)/8))
	}
}

// yielded returns the records that History yields and the number of errors.
func yielded(j *journal.Journal, stream string) (got []string, faults int) {
	for r, err := range j.History(stream) {
		if err != nil {
			faults++
			continue
		}
		got = append(got, show(r))
	}
	return got, faults
}

func TestEndOfACleanCloseIsDamageNotTorn(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{})
	for _, ticket := range batch(t, d, j, "one", "two", "three") {
		if err := ticket.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	shut(t, j)
	edit(t, d, segments(t, d)[0], func(b []byte) []byte {
		b[bytes.Index(b, []byte("aone"))] ^= 1
		return b
	})
	j = open(t, d, journal.Options{})
	if r := j.Report(); len(r.Damage) != 1 || r.Torn != nil {
		t.Errorf("report %v", r)
	}
	same(t, "live", live(t, j), []string{"a:before", "a:two", "a:three"})
	shut(t, j)
}

func TestARecordInsideARecordIsNotFound(t *testing.T) {
	other := journaltest.New() // its numbers are as high as they may come
	j := open(t, other, journal.Options{})
	commit(t, j, "other", "1", "2", "3", "4", "5", "6", "7", "8", "9")
	shut(t, j)
	inner := contents(t, other, segments(t, other)[0])
	d := journaltest.New()
	j = open(t, d, journal.Options{})
	commit(t, j, "a", "one", "two", "three")
	inner = append(inner, make([]byte, -len(inner)&7)...)
	if err := j.Commit("abcdefgh", 1, inner); err != nil { // aligned, as frames are
		t.Fatal(err)
	}
	commit(t, j, "b", "last")
	shut(t, j)
	edit(t, d, segments(t, d)[0], func(b []byte) []byte {
		b[bytes.Index(b, []byte("abcdefgh"))] ^= 1
		return b
	})
	j = open(t, d, journal.Options{})
	same(t, "live", live(t, j), []string{"a:one", "a:two", "a:three", "b:last"})
	if r := j.Report(); len(r.Damage) != 1 {
		t.Errorf("report %v", r)
	}
	shut(t, j)
}

func TestAMissingSegmentIsReported(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{SegmentBytes: 200})
	for i := range 20 {
		commit(t, j, "a", fmt.Sprint(i))
	}
	shut(t, j)
	gone := segments(t, d)[1]
	d.Remove(gone)
	j = open(t, d, journal.Options{})
	r := j.Report()
	if len(r.Damage) != 1 || r.Damage[0].Segment != filepath.Base(gone) || r.Damage[0].Records == 0 {
		t.Errorf("report %v", r)
	}
	if got := live(t, j); len(got)+int(r.Damage[0].Records) != 20 {
		t.Errorf("%d shown, %d reported lost, 20 written", len(got), r.Damage[0].Records)
	}
	if got, faults := yielded(j, "a"); faults != 1 || len(got)+int(r.Damage[0].Records) != 20 {
		t.Errorf("history: %d records, %d faults", len(got), faults)
	}
	shut(t, j)
}

func TestASegmentHeadIsNotNeededToReadItsRecords(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{SegmentBytes: 200})
	for i := range 20 {
		commit(t, j, "a", fmt.Sprint(i))
	}
	shut(t, j)
	for _, path := range segments(t, d) {
		edit(t, d, path, func(b []byte) []byte { clear(b[:32]); return b })
	}
	j = open(t, d, journal.Options{})
	if got := live(t, j); len(got) != 20 {
		t.Errorf("%d of 20 records", len(got))
	}
	if r := j.Report(); len(r.Damage) != len(segments(t, d)) {
		t.Errorf("report %v", r)
	}
	commit(t, j, "a", "more")
	shut(t, j)
}

func TestACrashWhileRollingLeavesNothingBehind(t *testing.T) {
	for _, left := range [][]byte{nil, make([]byte, 10), make([]byte, 4096), []byte("swarmjl\x01 half a head")} {
		d := journaltest.New()
		j := open(t, d, journal.Options{})
		commit(t, j, "a", "one")
		shut(t, j)
		d.WriteFile(filepath.Join(dir, fmt.Sprintf("%016x.log", 2)), left)
		j = open(t, d, journal.Options{})
		if r := j.Report(); len(r.Damage) != 0 {
			t.Errorf("report %v", r)
		}
		commit(t, j, "a", "two")
		same(t, "live before", live(t, j), []string{"a:one"})
		shut(t, j)
		j = open(t, d, journal.Options{})
		clean(t, j)
		same(t, "live", live(t, j), []string{"a:one", "a:two"})
		same(t, "history", history(t, j, "a"), []string{"a:one", "a:two"})
		shut(t, j)
	}
}

func TestACrashDuringRecoveryIsRecoveredFrom(t *testing.T) {
	for n := 1; ; n++ {
		d := journaltest.New()
		j := open(t, d, journal.Options{})
		commit(t, j, "a", "one")
		d.FailWrite(1)
		isFailed(t, "commit", j.Commit("a", 1, bytes.Repeat([]byte("x"), 100)))
		d.Crash(journaltest.LoseNothing, nil)
		d.FailSync(n)
		if _, err := journal.Open(dir, journal.Options{FS: d}); err == nil {
			if n < 4 {
				t.Errorf("recovery made only %d syncs", n-1)
			}
			return
		}
		d.Crash(journaltest.LoseSome, rand.New(rand.NewPCG(1, uint64(n))))
		j = open(t, d, journal.Options{})
		same(t, fmt.Sprint("live after sync ", n), live(t, j), []string{"a:one"})
		shut(t, j)
	}
}

var mutations = flag.Int("mutations", 3000, "rounds of TestMutationsAreNeverSilent")

// TestMutationsAreNeverSilent changes closed journals at random. A record that
// is gone must be covered by the report, and none may be invented. Only an end
// that is cut off or zeroed between two records looks like a shorter journal.
func TestMutationsAreNeverSilent(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{SegmentBytes: 2000})
	for i := range 100 {
		commit(t, j, "a", strings.Repeat(fmt.Sprint(i%10), 1+i%50)+fmt.Sprint(" ", i))
	}
	want := live(t, open2(t, d, j))
	paths := segments(t, d)
	original := map[string][]byte{}
	for _, p := range paths {
		original[p] = contents(t, d, p)
	}
	rounds, gone := *mutations, 0
	last := paths[len(paths)-1]
	rng := rand.New(rand.NewPCG(7, 7))
	for i := range rounds {
		m := journaltest.New()
		for p, b := range original {
			m.WriteFile(p, b)
		}
		victim := paths[rng.IntN(len(paths))]
		what := mutate(m, victim, bytes.Clone(original[victim]), rng)
		j := open(t, m, journal.Options{SegmentBytes: 2000})
		got := live(t, j)
		if !subsequence(got, want) {
			t.Fatalf("round %d, %s in %s: invented or reordered: %q", i, what, victim, got)
		}
		if len(got) < len(want) {
			gone++
			if j.Report().Clean() && !(victim == last && slices.Equal(got, want[:len(got)])) {
				t.Fatalf("round %d, %s in %s: %d records gone, report says %v", i, what, victim, len(want)-len(got), j.Report())
			}
		}
		shut(t, j)
	}
	if gone < rounds/2 {
		t.Errorf("only %d of %d mutations took a record", gone, rounds)
	}
}

// open2 closes j and opens the journal again, to close it at the test's end.
func open2(t *testing.T, d *journaltest.Disk, j *journal.Journal) *journal.Journal {
	shut(t, j)
	j = open(t, d, journal.Options{})
	shut(t, j)
	return j
}

func mutate(d *journaltest.Disk, path string, b []byte, rng *rand.Rand) string {
	at := rng.IntN(len(b))
	n := min(1+rng.IntN(200), len(b)-at)
	what := "flip"
	switch rng.IntN(5) {
	case 0:
		b[at] ^= 1 << rng.IntN(8)
	case 1:
		what = "zero"
		clear(b[at : at+n])
	case 2:
		what = "noise"
		for i := range n {
			b[at+i] = byte(rng.Uint32())
		}
	case 3:
		what = "delete"
		b = append(b[:at], b[at+n:]...)
	case 4:
		what = "repeat"
		b = append(b[:at+n], b[at:]...)
	}
	d.WriteFile(path, b)
	return fmt.Sprintf("%s %d at %d", what, n, at)
}

func subsequence(part, whole []string) bool {
	for _, w := range whole {
		if len(part) > 0 && part[0] == w {
			part = part[1:]
		}
	}
	return len(part) == 0
}

func TestLawReadingChangesNothing(t *testing.T) {
	d := journaltest.New()
	j := open(t, d, journal.Options{SegmentBytes: 4096})
	for range 100 {
		commit(t, j, "a", "one of many records that fill several segments")
	}
	commit(t, j, "b", "one", "two")
	d.Crash(journaltest.LoseNothing, nil)
	paths := segments(t, d)
	edit(t, d, paths[len(paths)-1], func(b []byte) []byte { // the last record loses its end
		end := len(bytes.TrimRight(b, "\x00"))
		clear(b[end-2 : end])
		return b
	})
	if err := d.MkdirAll(dir); err != nil { // a new process
		t.Fatal(err)
	}
	before := everything(t, d)
	for range 2 {
		j = open(t, d, journal.Options{ReadOnly: true})
		if torn := j.Report().Torn; torn == nil || torn.File != "" || !strings.Contains(j.Report().String(), "at the next start") {
			t.Errorf("the report of a look is %v", j.Report())
		}
		if n := len(live(t, j)); n != 101 {
			t.Errorf("%d records are alive, want 101", n)
		}
		same(t, "history", history(t, j, "b"), []string{"b:one"})
		if err := j.Commit("a", 1, []byte("x")); !errors.Is(err, journal.ErrReadOnly) {
			t.Errorf("an append to a look: %v", err)
		}
		shut(t, j)
	}
	if after := everything(t, d); !maps.Equal(before, after) {
		t.Errorf("the files were %v and are %v", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
	}
	j = open(t, d, journal.Options{})
	if torn := j.Report().Torn; torn == nil || torn.File == "" {
		t.Errorf("the next start reports %v", j.Report())
	}
	shut(t, j)
	if _, err := journal.Open("/nowhere", journal.Options{ReadOnly: true}); err == nil {
		t.Error("a look at nothing made a journal")
	}
}

// everything returns the content of every file of the journal.
func everything(t *testing.T, d *journaltest.Disk) map[string]string {
	t.Helper()
	names, err := d.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range names {
		all[name] = string(contents(t, d, filepath.Join(dir, name)))
	}
	return all
}
