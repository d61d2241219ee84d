package builtin

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// aged writes files whose order in time is that of the names given, oldest
// first.
func (k *kit) aged(names ...string) {
	k.t.Helper()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, name := range names {
		path := k.file(name, "x\n")
		when := start.Add(time.Duration(i) * time.Minute)
		if err := os.Chtimes(path, when, when); err != nil {
			k.t.Fatal(err)
		}
	}
}

func TestGlobFindsNewestFirst(t *testing.T) {
	k := newKit(t)
	k.aged("a.go", "b/c/d.go", "b/e.ts", "b/f.tsx", "z.go", ".git/x.go", ".hidden/h.go", "with space.go")
	outside := t.TempDir()
	if err := os.Symlink(filepath.Join(k.dir, "b"), filepath.Join(outside, "link")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in   in
		want string
	}{
		{in{"pattern": "*.go"}, "with space.go z.go a.go"},
		{in{"pattern": "./*.go"}, "with space.go z.go a.go"},
		{in{"pattern": "**/*.go"}, "with space.go .hidden/h.go z.go b/c/d.go a.go"},
		{in{"pattern": "b/**/*.{ts,tsx}"}, "b/f.tsx b/e.ts"},
		{in{"pattern": "*.ts", "path": "b"}, "b/e.ts"},
		{in{"pattern": "b/*/d.go"}, "b/c/d.go"},
		{in{"pattern": "b/e.ts"}, "b/e.ts"},
		{in{"pattern": filepath.Join(k.dir, "b") + "/**"}, "b/f.tsx b/e.ts b/c/d.go"},
		{in{"pattern": "*.ts", "path": outside + "/link"}, outside + "/link/e.ts"},
	} {
		if diff := cmp.Diff(c.want, strings.ReplaceAll(k.ok("Glob", c.in), "\n", " ")); diff != "" {
			t.Errorf("Glob(%v) (-want +got):\n%s", c.in, diff)
		}
	}
	if got := k.ok("Glob", in{"pattern": "d.go"}); !strings.Contains(got, "No files match") || !strings.Contains(got, "**/d.go") {
		t.Errorf("no match: %q", got)
	}
	for _, bad := range []in{{"pattern": "a["}, {"pattern": ""}, {"pattern": "*", "path": "nowhere"}, {"pattern": "*", "path": "a.go"}} {
		k.refused("Glob", bad)
	}
}

func TestGlobShowsTheNewestHundredAndSaysSo(t *testing.T) {
	k := newKit(t)
	var names []string
	for n := range 350 {
		names = append(names, fmt.Sprintf("d%d/f%03d", n%7, n))
	}
	k.aged(names...)
	lines := strings.Split(k.ok("Glob", in{"pattern": "**"}), "\n")
	slices.Reverse(names)
	want := append(names[:maxGlob:maxGlob], "(The newest 100 of 350 files; narrow the pattern for the others.)")
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

func TestGlobStopsWithItsContext(t *testing.T) {
	k := newKit(t)
	k.aged("a", "b")
	ctx, cancel := cancelled(t, "the parent stopped")
	cancel()
	g := &globSearch{root: k.dir, real: k.dir, pattern: "**"}
	if err := g.walk(ctx); err == nil || !strings.Contains(err.Error(), "the parent stopped") {
		t.Errorf("a cancelled walk: %v", err)
	}
}
