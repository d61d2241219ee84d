package journal_test

import (
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/actorswarm/swarm/internal/journal"
)

const payload = 256

// bare is the floor: a write and a sync of as many bytes, into reserved space.
type bare struct {
	f   journal.File
	off int64
	buf []byte
}

const (
	bareRoom  = 8 << 20
	frameHead = 32
)

func newBare(b *testing.B, dir string) *bare {
	f, err := journal.OS{}.Create(filepath.Join(dir, "bare"))
	if err != nil {
		b.Fatal(err)
	}
	if err := f.Preallocate(bareRoom); err != nil {
		b.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := f.Close(); err != nil {
			b.Error(err)
		}
	})
	return &bare{f: f, buf: slices.Repeat([]byte{1}, payload+frameHead+8)}
}

func (w *bare) commit(b *testing.B) time.Duration {
	start := time.Now()
	if w.off += int64(len(w.buf)); w.off+int64(len(w.buf)) > bareRoom {
		w.off = 0
	}
	if _, err := w.f.WriteAt(w.buf, w.off); err != nil {
		b.Fatal(err)
	}
	if err := w.f.Sync(); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

func openBench(b *testing.B, dir string) *journal.Journal {
	j, err := journal.Open(dir, journal.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return j
}

func middle(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkCommitOneWriter takes turns between a commit and the bare write and
// sync; x-bare is the ratio of the medians.
func BenchmarkCommitOneWriter(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		w := newBare(b, b.TempDir())
		for b.Loop() {
			w.commit(b)
		}
	})
	b.Run("journal", func(b *testing.B) {
		w, j := newBare(b, b.TempDir()), openBench(b, b.TempDir())
		data := make([]byte, payload)
		var floor, ours []time.Duration
		for b.Loop() {
			start := time.Now()
			if err := j.Commit("agent", 1, data); err != nil {
				b.Fatal(err)
			}
			ours = append(ours, time.Since(start))
			b.StopTimer()
			floor = append(floor, w.commit(b))
			b.StartTimer()
		}
		shut(b, j)
		f, o := middle(floor), middle(ours)
		b.ReportMetric(float64(o)/float64(f), "x-bare")
		b.ReportMetric(float64(o.Microseconds()), "p50-µs")
	})
}

func BenchmarkCommit100Writers(b *testing.B) {
	const writers = 100
	j := openBench(b, b.TempDir())
	var left atomic.Int64
	left.Store(int64(b.N))
	times := make([][]time.Duration, writers)
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	start := time.Now()
	for w := range writers {
		wg.Go(func() {
			data := make([]byte, payload)
			for left.Add(-1) >= 0 {
				at := time.Now()
				if err := j.Commit("agent", 1, data); err != nil {
					b.Error(err)
					return
				}
				times[w] = append(times[w], time.Since(at))
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	b.StopTimer()
	s := j.Stats()
	shut(b, j)
	b.ReportMetric(float64(b.N)/took.Seconds(), "records/s")
	b.ReportMetric(float64(middle(slices.Concat(times...)).Microseconds()), "p50-µs")
	b.ReportMetric(float64(s.Records)/float64(s.Batches), "records/sync")
}

func BenchmarkAppend(b *testing.B) {
	j := openBench(b, b.TempDir())
	data := make([]byte, payload)
	b.ReportAllocs()
	for b.Loop() {
		j.Append("agent", 1, data)
	}
	shut(b, j)
}

func BenchmarkOpenMillionOld(b *testing.B) {
	dir := b.TempDir()
	million(b, dir)
	var shown int
	b.ResetTimer()
	for b.Loop() {
		j := openBench(b, dir)
		shown = 0
		if err := j.Live(func(journal.Record) error { shown++; return nil }); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		shut(b, j)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/open")
	b.ReportMetric(float64(shown), "live-records")
}

// million leaves a million old records, and 1,000 live streams with a record
// each after their snapshot.
func million(b *testing.B, dir string) {
	j := openBench(b, dir)
	data := make([]byte, payload)
	for i := range 1_000_000 {
		j.Append(streams[i%len(streams)], 1, data)
	}
	err := j.Checkpoint(func(snap func(string, []byte)) error {
		for i := range 1000 {
			snap(string(rune('a'+i%26))+string(rune('a'+i/26)), data)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for range 1000 {
		j.Append("aa", 1, data)
	}
	shut(b, j)
}

// BenchmarkHistory reads one of a hundred streams over 30 segments.
func BenchmarkHistory(b *testing.B) {
	j := openBench(b, b.TempDir())
	data := make([]byte, payload)
	for i := range 800_000 {
		j.Append(string(rune('a'+i%100)), 1, data)
	}
	if err := j.Sync(); err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		n = 0
		for _, err := range j.History("c") {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
	}
	shut(b, j)
	b.ReportMetric(float64(n), "records")
}
