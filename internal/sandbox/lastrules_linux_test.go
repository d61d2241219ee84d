package sandbox

import (
	"os"
	"strings"
	"testing"
)

// TestSharedRulesFollowTheFileSystem: a command that takes over the rules of the last one
// reads what its roots are now, and nothing through a link that replaces one.
func TestSharedRulesFollowTheFileSystem(t *testing.T) {
	needs(t, "cat")
	for machine, m := range machines(t) {
		t.Run(machine, func(t *testing.T) {
			l := newLab(t)
			p := l.profile(Inspect)
			read := func() string { return l.run(t, m, p, "cat file ../.ssh/id") }
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			if out := read(); !strings.Contains(out, visible) {
				t.Fatalf("the first command reads nothing: %s", out)
			}
			shared := p.last.file
			if out := read(); !strings.Contains(out, visible) || p.last.file != shared {
				t.Errorf("the second command has rules of its own: %s", out)
			}
			must(os.Rename(l.dir, l.dir+".old"))
			write(t, l.dir+"/file", visible)
			if out := read(); !strings.Contains(out, visible) {
				t.Errorf("the directory that replaced another is not read: %s", out)
			}
			must(os.Rename(l.dir, l.dir+".older"))
			must(os.Symlink(l.home+"/.ssh", l.dir))
			if out := l.run(t, m, p, "cat id"); strings.Contains(out, canary) {
				t.Error("a link in place of the directory leads to the canary")
			}
		})
	}
}
