package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestWithinNeverWidens: what a profile within another allows, both allow.
func TestWithinNeverWidens(t *testing.T) {
	path := rapid.Custom(func(t *rapid.T) string {
		return "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 4).Draw(t, "parts"), "/")
	})
	clean := rapid.Map(path, filepath.Clean)
	paths := rapid.SliceOfN(clean, 0, 4)
	profile := rapid.Custom(func(t *rapid.T) Profile {
		p := Profile{
			Name: rapid.SampledFrom(Names()).Draw(t, "name"), Read: paths.Draw(t, "read"), Write: paths.Draw(t, "write"),
			Hidden: paths.Draw(t, "hidden"), Shown: paths.Draw(t, "shown"), Network: rapid.Bool().Draw(t, "network"),
			Sockets: rapid.Bool().Draw(t, "sockets"), Limits: Limits{CPU: rapid.Uint64Range(0, 3).Draw(t, "cpu")},
			Totals: Totals{Processes: rapid.IntRange(0, 3).Draw(t, "processes")}, Outlet: rapid.Bool().Draw(t, "outlet"), Free: paths.Draw(t, "free"),
		}
		for _, f := range paths.Draw(t, "fixed") {
			p.Fixed = append(p.Fixed, Fixed{Path: f})
		}
		if rapid.Bool().Draw(t, "private") {
			p.Temp = clean.Draw(t, "temp")
		}
		return p
	})
	reads, writes := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		child, parent, at := profile.Draw(t, "child"), profile.Draw(t, "parent"), clean.Draw(t, "path")
		both := child.Within(parent)
		if both.MayRead(at) {
			reads++
			if !child.MayRead(at) || !parent.MayRead(at) {
				t.Fatalf("%s can be read", at)
			}
		}
		if both.MayWrite(at) {
			writes++
			if !child.MayWrite(at) || !parent.MayWrite(at) {
				t.Fatalf("%s can be written", at)
			}
		}
		if both.Network && !parent.Network || both.Sockets && !parent.Sockets || parent.Limits.CPU != 0 && (both.Limits.CPU == 0 || both.Limits.CPU > parent.Limits.CPU) {
			t.Fatal("more than the parent's")
		}
		if most := parent.Totals.Processes; most != 0 && (both.Totals.Processes == 0 || both.Totals.Processes > most) {
			t.Fatal("more processes than the parent's")
		}
		if both.Outlet && !(child.Network || child.Outlet) || both.Outlet && !(parent.Network || parent.Outlet) {
			t.Fatal("an outlet that one of them lacks")
		}
	})
	if reads == 0 || writes == 0 {
		t.Errorf("%d reads and %d writes were allowed", reads, writes)
	}
}

// TestProfilesLieWithinEachOther: inspect allows no more than edit, and edit than open.
func TestProfilesLieWithinEachOther(t *testing.T) {
	home := t.TempDir()
	pl := Place{Dirs: []string{home + "/project"}, Home: home, Hidden: []string{home + "/.swarm"}, Getenv: os.Getenv}
	for _, path := range []string{
		"/usr/bin/env", "/etc/passwd", home, home + "/.ssh/id", home + "/project/f", home + "/project/.git/config", home + "/project/.claude", home + "/.swarm/x", "/home/other/f",
	} {
		i, e, o := pl.Profile(Inspect), pl.Profile(Edit), pl.Profile(Open)
		if i.MayRead(path) && !e.MayRead(path) || e.MayRead(path) && !o.MayRead(path) || i.MayWrite(path) && !e.MayWrite(path) || e.MayWrite(path) && !o.MayWrite(path) {
			t.Errorf("%s: read %v %v %v, write %v %v %v", path,
				i.MayRead(path), e.MayRead(path), o.MayRead(path), i.MayWrite(path), e.MayWrite(path), o.MayWrite(path))
		}
	}
}

// TestAGitFileLeadsNowhereElse: a file that came with a checkout names no directory that
// does not name it in return.
func TestAGitFileLeadsNowhereElse(t *testing.T) {
	base := real(t.TempDir())
	work, repo := base+"/work", base+"/repo/.git"
	put := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func() string { return strings.Join(Place{Home: base}.repository(work), " ") }
	put(repo+"/worktrees/w/gitdir", work+"/.git\n")
	put(work+"/.git", "gitdir: "+repo+"/worktrees/w\n")
	if got := read(); got != repo+" "+work {
		t.Errorf("a worktree reads %s", got)
	}
	for _, to := range []string{"/", base, "..", repo, repo + "/worktrees/other"} {
		put(work+"/.git", "gitdir: "+to+"\n")
		if got := read(); got != work {
			t.Errorf("a file that names %s reads %s", to, got)
		}
	}
}

func TestDenialNamesWhatWasDenied(t *testing.T) {
	home := real(t.TempDir())
	work := home + "/work"
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	pl := Place{Dirs: []string{work}, Home: home, Hidden: []string{home + "/.swarm"}, Getenv: func(string) string { return "" }}
	for _, c := range []struct {
		n            Name
		output, want string
	}{
		{Inspect, "cat: " + home + "/notes: Permission denied\n", "outside of what it reads"},
		{Inspect, "touch: cannot touch 'made/here': Permission denied", "denied a change of " + work + "/made/here"},
		{Inspect, "curl: (6) Could not resolve host: example.org", "denied the network"},
		{Inspect, "something went wrong: Permission denied", "cannot be said"},
		{Inspect, "bash: line 1: kill: (1) - Operation not permitted", "signal or trace"},
		{Edit, "bash: .git/config: Read-only file system", "denied a change of " + work + "/.git/config"},
		{Open, "cat: " + home + "/.ssh/id: No such file or directory", "hides " + home + "/.ssh/id"},
		{Open, "cat: ../.ssh/id: Permission denied", "hides " + home + "/.ssh/id"},
		{Open, "cat: /root/x: Permission denied", ""},
		{Open, "make: x: No such file or directory", ""},
		{Inspect, "all is well", ""},
	} {
		got := pl.Profile(c.n).Denial(c.output, work)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) || got != "" && !strings.Contains(got, string(c.n)) {
			t.Errorf("%s: %q: %q, want %q", c.n, c.output, got, c.want)
		}
	}
}

func TestExplainNamesEverything(t *testing.T) {
	pl := Place{Dirs: []string{"/srv/project"}, Home: "/home/ann", Hidden: []string{"/home/ann/.swarm"}}
	for _, n := range Names() {
		var b bytes.Buffer
		p := pl.Profile(n)
		if err := p.Explain(&b, Machine{Landlock: 7, Scopes: true, Seccomp: true, Mounts: true}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{string(n) + ":", "/home/ann/.ssh", "/home/ann/.swarm", "Landlock ABI 7"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: %q is not in\n%s", n, want, b.String())
			}
		}
	}
}

func TestSeatbeltDecidesByTheNearestPath(t *testing.T) {
	text := seatbelt(Profile{Name: Open, Read: []string{"/"}, Write: []string{"/"}, Hidden: []string{"/h"}, Shown: []string{"/h/shown", "/"}, Network: true, Sockets: true})
	at := -1
	for _, rule := range []string{`(allow file-read* (subpath "/"))`, `(deny file-read* file-write* (subpath "/h"))`, `(allow file-read* (subpath "/h/shown"))`} {
		next := strings.LastIndex(text, rule)
		if next <= at {
			t.Fatalf("%s is not in its place in\n%s", rule, text)
		}
		at = next
	}
	if !strings.Contains(seatbelt(Profile{Name: Inspect}), fmt.Sprintf("(deny %s)", "network*")) {
		t.Error("inspect has a network")
	}
}

// TestDenialOfANetworkOfItsOwn: a program that does not use the proxy learns of it, and of
// what lets commands do more.
func TestDenialOfANetworkOfItsOwn(t *testing.T) {
	p := Profile{Name: Edit, Outlet: true, Wider: "Settings let commands do more."}
	got := p.Denial("curl: (6) Could not resolve host: example.com\n", "/")
	for _, want := range []string{"profile edit", "HTTPS_PROXY", p.Wider} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if p.Outlet = false; !strings.Contains(p.Denial("Network is unreachable", "/"), "denied the network") {
		t.Error("without a network the denial is another one")
	}
	p.Wider = ""
	if got := p.Remedy(); !strings.Contains(got, "allow rule") {
		t.Errorf("what lets an edit command do more is %q", got)
	}
}
