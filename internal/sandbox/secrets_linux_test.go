package sandbox

import (
	"os"
	"strings"
	"testing"
)

// TestEachSecretIsHidden reads a canary at or below each name that holds credentials.
func TestEachSecretIsHidden(t *testing.T) {
	needs(t, "find", "cat")
	for machine, m := range machines(t) {
		t.Run(machine, func(t *testing.T) {
			l := newLab(t)
			for _, name := range secretNames() {
				if _, err := os.Lstat(l.home + "/" + name); err == nil {
					continue // the lab has it
				}
				if strings.Contains(name[1:], ".") {
					write(t, l.home+"/"+name, canary+" "+name)
				} else {
					write(t, l.home+"/"+name+"/file", canary+" "+name)
				}
			}
			script := "find ~ -path ~/.swarm -prune -o -type f -exec cat {} + ; true"
			if out := l.bare(script); strings.Count(out, canary) < len(secretNames()) {
				t.Fatalf("without a sandbox not all is read: %s", out)
			}
			for _, n := range m.names() {
				if out := l.run(t, m, l.profile(n), script); strings.Contains(out, canary) {
					t.Errorf("under %s: %s", n, out)
				}
			}
		})
	}
}
