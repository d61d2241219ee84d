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

// TestSharedRulesFollowTheirDirectory: an entry of a directory of many roots is replaced, which
// only the time of the directory shows.
func TestSharedRulesFollowTheirDirectory(t *testing.T) {
	needs(t, "cat")
	for machine, m := range machines(t) {
		t.Run(machine, func(t *testing.T) {
			l := newLab(t)
			p := l.profile(Inspect)
			dir := l.else_ + "/roots"
			for _, name := range strings.Split("abcdefghij", "") {
				write(t, dir+"/"+name, visible)
				p.Read = append(p.Read, dir+"/"+name)
			}
			read := func() string { return l.run(t, m, p, "cat "+dir+"/{a..j}") }
			if out := read(); strings.Count(out, visible) != 10 {
				t.Fatalf("the first command reads %s", out)
			}
			if _, recent := p.last.dirs[dir]; recent {
				t.Error("a directory that has just changed is trusted")
			}
			was := directory(dir)
			p.last.dirs = map[string]inode{dir: was}
			for directory(dir) == was { // until the clock of the file system has gone on
				write(t, dir+"/new", visible)
				if err := os.Rename(dir+"/new", dir+"/e"); err != nil {
					t.Fatal(err)
				}
			}
			if out := read(); strings.Count(out, visible) != 10 {
				t.Errorf("the second command reads %s", out)
			}
		})
	}
}
