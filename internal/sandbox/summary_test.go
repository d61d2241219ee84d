package sandbox

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestSummariesAreShort: all profiles fit onto a screen of forty lines.
func TestSummariesAreShort(t *testing.T) {
	var b bytes.Buffer
	pl := Place{Dirs: []string{"/srv/project"}, Home: "/home/ann", Hidden: []string{"/home/ann/.swarm"}}
	for i := range 300 {
		pl.Reads = append(pl.Reads, fmt.Sprintf("/opt/%d/%d", i%100, i), fmt.Sprintf("/many/%d", i))
	}
	for _, n := range Names() {
		p := pl.Profile(n)
		if err := p.Summarize(&b, Machine{Landlock: 7, Scopes: true, Seccomp: true, Mounts: true}); err != nil {
			t.Fatal(err)
		}
	}
	if lines := strings.Count(b.String(), "\n"); lines > 36 {
		t.Errorf("it has %d lines:\n%s", lines, &b)
	}
	for _, want := range []string{"inspect:", "edit:", "open:", "  changes   /srv/project\n", "/home/ann", " more\n", "Landlock ABI 7"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}
}

// TestBriefCountsWhatItLeavesOut, also of paths that it shows as one.
func TestBriefCountsWhatItLeavesOut(t *testing.T) {
	paths := []string{"/etc/a", "/etc/b", "/etc/c", "/etc/d", "/x"}
	if got, want := brief(paths, []string{"/x"}), "/x, /etc (4 entries of it)"; got != want {
		t.Errorf("brief is %q, want %q", got, want)
	}
	paths = nil
	for i := range 20 {
		paths = append(paths, fmt.Sprintf("/%d/x", i))
	}
	if got := brief(paths, nil); !strings.HasSuffix(got, "/5/x, and 14 more") {
		t.Errorf("brief is %q", got)
	}
	if got := brief(nil, nil); got != "" {
		t.Errorf("brief of nothing is %q", got)
	}
}
