package worktree

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkLease makes and removes a worktree through this package and through
// git alone in one run, and reports how many times longer ours takes.
func BenchmarkLease(b *testing.B) {
	p := newPlace(b)
	var ours, raw time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		if rel := p.release(p.lease(fmt.Sprintf("b%d", i), 1)); !rel.Removed {
			b.Fatal(rel.Why)
		}
		ours += time.Since(start)
		start = time.Now()
		dir, branch := filepath.Join(p.root, "raw"), fmt.Sprintf("raw-%d", i)
		p.git(p.dir, "worktree", "add", "-q", "-b", branch, dir)
		p.git(p.dir, "worktree", "remove", dir)
		p.git(p.dir, "branch", "-q", "-D", branch)
		raw += time.Since(start)
	}
	b.ReportMetric(float64(ours.Microseconds())/float64(b.N)/1000, "lease-ms/op")
	b.ReportMetric(float64(ours)/float64(raw), "x-raw-git")
}
