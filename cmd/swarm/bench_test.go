package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkStart is the whole life of a process: that of the cheapest command,
// and that of a run with one answer of a scripted model, its journal synced and
// its bus up and down again.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte("rules: [{say: {text: fine}}]"), 0o600); err != nil {
		b.Fatal(err)
	}
	env := append(os.Environ(), "HOME="+dir, "SWARM_HOME="+filepath.Join(dir, "state"))
	for name, args := range map[string][]string{
		"version": {"version"},
		"run":     {"run", "--model", "script:s.yaml", "go"},
	} {
		b.Run(name, func(b *testing.B) {
			var rss int64
			for b.Loop() {
				cmd := exec.Command("swarm", args...)
				cmd.Dir, cmd.Env = dir, env
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
				rss = max(rss, maxRSS(cmd.ProcessState))
			}
			b.ReportMetric(float64(rss)/(1<<20), "MiB-resident")
		})
	}
}
