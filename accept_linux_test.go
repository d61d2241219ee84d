package swarm_test

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// BenchmarkDurableAcceptOneSender compares one agent's accept, p50, with a bare
// append and fdatasync of as many bytes, in turns. Limit: 1.4 times.
func BenchmarkDurableAcceptOneSender(b *testing.B) {
	bare := bareAppend(b)
	var ratios, p50s []float64
	for b.Loop() {
		accept := acceptors(b, 1)
		theirs, ours := 0.0, 0.0
		for range 10 {
			theirs += p50(b, 20, bare)
			ours += p50(b, 20, accept)
		}
		ratios = append(ratios, ours/theirs)
		p50s = append(p50s, ours/10)
	}
	b.ReportMetric(median(p50s), "p50-µs")
	b.ReportMetric(median(ratios), "x-bare")
	b.ReportMetric(median(ratios)/1.4, "x-1.4-limit")
}

func p50(b *testing.B, n int, do func(int) error) float64 {
	b.Helper()
	_, each := together(b, 1, n, do)
	slices.Sort(each)
	return float64(each[len(each)/2].Nanoseconds()) / 1000
}

// bareAppend appends as many bytes as a message's record has to a file that has
// its room already, and syncs them.
func bareAppend(b *testing.B) func(int) error {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "bare"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := f.Close(); err != nil {
			b.Error(err)
		}
	})
	if err := syscall.Fallocate(int(f.Fd()), 0, 0, 64<<20); err != nil {
		b.Fatal(err)
	}
	record, at := make([]byte, 420), int64(0)
	return func(int) error {
		if _, err := f.WriteAt(record, at); err != nil {
			return err
		}
		at += int64(len(record))
		return syscall.Fdatasync(int(f.Fd()))
	}
}
