package defs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func write(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
}

func refresh(tb testing.TB, l *Loader) *Set {
	tb.Helper()
	s, err := l.Refresh()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// TestRefreshAgreesWithLoad makes every kind of change and compares with what
// a new reading finds.
func TestRefreshAgreesWithLoad(t *testing.T) {
	dir := tree(t, map[string]string{
		"repo/.git/HEAD":             "",
		"repo/.claude/agents/a.md":   file("a", "one"),
		"repo/.claude/agents/b.md":   file("b", "one"),
		"repo/.claude/agents/s/c.md": file("c", "one"),
		"home/.claude/agents/a.md":   file("a", "home"),
	})
	at := func(s string) string { return filepath.Join(dir, s) }
	o := Options{Cwd: at("repo"), Home: at("home"), ManagedDir: at("managed"), PluginDirs: []string{at("plug")}}
	l := NewLoader(o)
	before := refresh(t, l)
	for _, step := range []struct {
		what string
		do   func() error
		want []Change
	}{
		{"nothing", func() error { return nil }, nil},
		{"edited", func() error { return os.WriteFile(at("repo/.claude/agents/b.md"), []byte(file("b", "two")), 0o644) }, []Change{{"b", at("repo/.claude/agents/b.md"), "changed"}}},
		{"edited to the same size", func() error { return os.WriteFile(at("repo/.claude/agents/b.md"), []byte(file("b", "six")), 0o644) }, []Change{{"b", at("repo/.claude/agents/b.md"), "changed"}}},
		{"written with the same text", func() error { return os.WriteFile(at("repo/.claude/agents/b.md"), []byte(file("b", "six")), 0o644) }, nil},
		{"renamed inside", func() error { return os.WriteFile(at("repo/.claude/agents/b.md"), []byte(file("bb", "six")), 0o644) }, []Change{{"b", at("repo/.claude/agents/b.md"), "removed"}, {"bb", at("repo/.claude/agents/b.md"), "added"}}},
		{"broken", func() error {
			return os.WriteFile(at("repo/.claude/agents/s/c.md"), []byte("---\nname: c\n---\n"), 0o644)
		}, []Change{{"c", at("repo/.claude/agents/s/c.md"), "removed"}}},
		{"mended", func() error { return os.WriteFile(at("repo/.claude/agents/s/c.md"), []byte(file("c", "again")), 0o644) }, []Change{{"c", at("repo/.claude/agents/s/c.md"), "added"}}},
		{"warned", func() error {
			return os.WriteFile(at("repo/.claude/agents/s/c.md"), []byte("---\nname: c\ndescription: again\nodd: 1\n---\nbody of c\n"), 0o644)
		}, []Change{{"c", at("repo/.claude/agents/s/c.md"), "changed"}}},
		{"deleted", func() error { return os.Remove(at("repo/.claude/agents/a.md")) }, []Change{{"a", at("home/.claude/agents/a.md"), "changed"}}},
		{"shadowed one edited", func() error { return os.WriteFile(at("home/.claude/agents/bb.md"), []byte(file("bb", "home")), 0o644) }, nil},
		{"replaced by rename", func() error {
			if err := os.WriteFile(at("new"), []byte(file("a", "moved")), 0o644); err != nil {
				return err
			}
			return os.Rename(at("new"), at("home/.claude/agents/a.md"))
		}, []Change{{"a", at("home/.claude/agents/a.md"), "changed"}}},
		{"settings", func() error {
			return os.WriteFile(at("repo/.claude/settings.json"), []byte(`{"agents": {"set": {"description": "d"}}}`), 0o644)
		}, []Change{{"set", at("repo/.claude/settings.json"), "added"}}},
		{"a source that was not there", func() error {
			return os.MkdirAll(at("managed/.claude/agents"), 0o755)
		}, nil},
		{"its file", func() error {
			return os.WriteFile(at("managed/.claude/agents/m.md"), []byte(file("m", "d")), 0o644)
		}, []Change{{"m", at("managed/.claude/agents/m.md"), "added"}}},
		{"a plugin", func() error {
			if err := os.MkdirAll(at("plug/agents"), 0o755); err != nil {
				return err
			}
			return os.WriteFile(at("plug/agents/p.md"), []byte(file("p", "d")), 0o644)
		}, []Change{{"plug:p", at("plug/agents/p.md"), "added"}}},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		after := refresh(t, l)
		if diff := cmp.Diff(step.want, Diff(before, after)); diff != "" {
			t.Errorf("%s: %s", step.what, diff)
		}
		fresh := load(t, o)
		if diff := cmp.Diff([][]Definition{fresh.Active, fresh.All}, [][]Definition{after.Active, after.All}); diff != "" {
			t.Errorf("%s: %s", step.what, diff)
		}
		if diff := cmp.Diff(texts(fresh.Problems), texts(after.Problems)); diff != "" {
			t.Errorf("%s: %s", step.what, diff)
		}
		if again := refresh(t, l); again != after {
			t.Errorf("%s: looking again makes another set", step.what)
		}
		before = after
	}
}

// TestWatchShowsAChangeWithinTwoSeconds edits files under a clock of the test.
func TestWatchShowsAChangeWithinTwoSeconds(t *testing.T) {
	dir := tree(t, map[string]string{".claude/agents/a.md": file("a", "one")})
	synctest.Test(t, func(t *testing.T) {
		var changes atomic.Int32
		w, err := Watch(Options{Cwd: dir, NoBuiltins: true}, WatchOptions{Changed: func(_, _ *Set) { changes.Add(1) }})
		if err != nil {
			t.Fatal(err)
		}
		w.Start(t.Context())
		defer w.Stop()
		expect := func(want map[string]string, n int32) {
			t.Helper()
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if diff := cmp.Diff(want, winners(w.Set())); diff != "" || changes.Load() != n {
				t.Errorf("after %d changes: %s", changes.Load(), diff)
			}
		}
		expect(map[string]string{"a": "project: one"}, 0)
		write(t, filepath.Join(dir, ".claude/agents/new/b.md"), file("b", "two"))
		expect(map[string]string{"a": "project: one", "b": "project: two"}, 1)
		write(t, filepath.Join(dir, ".claude/agents/a.md"), file("a", "edited"))
		expect(map[string]string{"a": "project: edited", "b": "project: two"}, 2)
		if err := os.Remove(filepath.Join(dir, ".claude/agents/a.md")); err != nil {
			t.Fatal(err)
		}
		expect(map[string]string{"b": "project: two"}, 3)
	})
}

func TestWatchKeepsTheLastSetWhenReadingFails(t *testing.T) {
	dir := tree(t, map[string]string{"agents.json": `{"a": {"description": "d"}}`})
	synctest.Test(t, func(t *testing.T) {
		var failures atomic.Int32
		w, err := Watch(Options{Cwd: dir, FlagJSON: "agents.json", NoBuiltins: true}, WatchOptions{Failed: func(error) { failures.Add(1) }})
		if err != nil {
			t.Fatal(err)
		}
		w.Start(t.Context())
		defer w.Stop()
		write(t, filepath.Join(dir, "agents.json"), `{"a": `)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if _, ok := w.Set().Lookup("a"); !ok || failures.Load() != 1 {
			t.Errorf("a is there: %v, told %d times", ok, failures.Load())
		}
		write(t, filepath.Join(dir, "agents.json"), `{"b": {"description": "d"}}`)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if _, ok := w.Set().Lookup("b"); !ok {
			t.Errorf("after the repair there are %v", w.Set().Names())
		}
	})
}

func TestWatcherStopWaitsAndMayPrecedeStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which fails if a goroutine is left
		w, err := Watch(Options{}, WatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w.Start(t.Context())
		w.Start(t.Context())
		w.Stop()
		w.Stop()
		early, err := Watch(Options{}, WatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		early.Stop()
		early.Start(t.Context())
	})
}

// many writes 10,000 files of 2 KB.
func many(b *testing.B) string {
	files := map[string]string{}
	for i := range 10_000 {
		files[fmt.Sprintf(".claude/agents/%d/a%d.md", i%100, i)] = file(fmt.Sprintf("agent-%d", i), "Use it: for things") + strings.Repeat("Do it well.\n", 160)
	}
	return tree(b, files)
}

// BenchmarkLoad loads 10,000 definitions and resolves each; its limit is 2 s.
func BenchmarkLoad(b *testing.B) {
	dir := many(b)
	tools := []string{"Read", "Write", "Bash", "Agent", "mcp__a__b"}
	for b.Loop() {
		s := load(b, Options{Cwd: dir})
		if len(s.Active) != 10_000+len(builtinNames()) {
			b.Fatal(len(s.Active))
		}
		for _, d := range s.Active {
			if _, err := ResolveTools(d, tools, ToolOptions{}); err != nil && d.Name != "claude-code-guide" && d.Name != "statusline-setup" {
				b.Fatal(err)
			}
			ResolveModel("", d.Model, "", "claude-opus-4-1")
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/2, "of-limit")
}

// BenchmarkReload takes in one changed file among 10,000; its limit is 5 ms.
func BenchmarkReload(b *testing.B) {
	dir := many(b)
	l := NewLoader(Options{Cwd: dir})
	refresh(b, l)
	path := filepath.Join(dir, ".claude/agents/7/a7.md")
	i := 0
	var took time.Duration // of the reload alone, without the writing
	for b.Loop() {
		i++
		write(b, path, file("agent-7", fmt.Sprint("version ", i)))
		start := time.Now()
		if !l.patch([]string{path}) {
			b.Fatal("not taken in alone")
		}
		took += time.Since(start)
	}
	if d, _ := l.set.Lookup("agent-7"); d.Description != fmt.Sprint("version ", i) {
		b.Fatal(d.Description)
	}
	b.ReportMetric(took.Seconds()/float64(b.N)/0.005, "of-limit")
}

// BenchmarkWatch looks at 10,000 files of which none has changed.
func BenchmarkWatch(b *testing.B) {
	dir := many(b)
	l := NewLoader(Options{Cwd: dir})
	first := refresh(b, l)
	for len(l.changed()) > 0 { // until the writing is long enough ago
		first = refresh(b, l)
	}
	for b.Loop() {
		if refresh(b, l) != first {
			b.Fatal("a change was seen")
		}
	}
}
