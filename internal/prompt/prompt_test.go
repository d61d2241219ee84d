package prompt

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/actorswarm/swarm/defs"
	"github.com/google/go-cmp/cmp"
)

func tree(tb testing.TB, files map[string]string) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

func names(steps []Step) []string {
	var out []string
	for _, s := range steps {
		out = append(out, s.Name)
	}
	return out
}

func full() Input {
	return Input{
		Definition: defs.Definition{
			Name: "p:a", Body: "Read ${CLAUDE_PLUGIN_ROOT}/x as ${user_config.who}, not ${user_config.none}.", Memory: "user", CriticalReminder: "Beware.",
			Plugin: &defs.PluginInfo{Name: "p", Root: "/plug", Config: map[string]string{"who": "me"}},
		},
		Memory: "memory of ${user_config.who}", Role: "role", Environment: "env",
		Instructions: "all", Managed: "managed", Git: func() string { return "state" },
	}
}

func TestStepsComeInOrder(t *testing.T) {
	steps := Build(full())
	want := []string{"body", "memory", "plugin", "role", "environment", "instructions", "git", "reminder"}
	if diff := cmp.Diff(want, names(steps)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Read /plug/x as me, not ${user_config.none}.\n\nmemory of me\n\nrole", "env", "all", "state", "Beware."}, Blocks(steps)); diff != "" {
		t.Error(diff)
	}
	if note := steps[2].Note; note != "the values of the plugin p are put in; without a value: none" {
		t.Error(note)
	}
	for name, x := range map[string]struct {
		in   Input
		want []string
	}{
		"nothing given": {Input{}, []string{"default"}},
		"base":          {Input{Base: "b", Definition: defs.Definition{Body: "x"}}, []string{"given"}},
		"omitted": {
			Input{Definition: defs.Definition{Body: "x", OmitClaudeMD: true, OneShot: true}, Instructions: "all", Git: func() string { t.Error("git was asked"); return "" }},
			[]string{"body"},
		},
		"instructions omitted": {
			Input{Definition: defs.Definition{Body: "x", OmitClaudeMD: true}, Instructions: "all", Git: func() string { return "g" }}, []string{"body", "git"},
		},
		"omitted, but for the organisation's": {
			Input{Definition: defs.Definition{Body: "x", OmitClaudeMD: true}, Instructions: "all", Managed: "m"}, []string{"body", "instructions"},
		},
		"outside a repository": {Input{Git: func() string { return "" }}, []string{"default"}},
	} {
		if diff := cmp.Diff(x.want, names(Build(x.in))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestBuildIsDeterministic(t *testing.T) {
	want := strings.Join(Blocks(Build(full())), "\x00")
	for range 1000 {
		if got := strings.Join(Blocks(Build(full())), "\x00"); got != want {
			t.Fatalf("%q, then %q", want, got)
		}
	}
}

func TestInstructionsOrder(t *testing.T) {
	dir := tree(t, map[string]string{
		"managed/CLAUDE.md":               "MANAGED",
		"home/.claude/CLAUDE.md":          "USER",
		"work/CLAUDE.md":                  "ABOVE",
		"work/repo/.git/HEAD":             "",
		"work/repo/CLAUDE.md":             "\ufeffROOT\r\n<!-- hidden\nstill hidden -->\nafter\n\n```\n<!-- kept -->\n```\n",
		"work/repo/CLAUDE.local.md":       "LOCAL",
		"work/repo/AGENTS.md":             "AGENTS",
		"work/repo/sub/.claude/CLAUDE.md": "SUB",
		"work/repo/sub/below/CLAUDE.md":   "BELOW",
	})
	at := func(s string) string { return filepath.Join(dir, s) }
	o := Options{Cwd: at("work/repo/sub"), Home: at("home"), ManagedDir: at("managed")}
	all, managed := NewSources(o).Instructions()
	last := -1
	for _, text := range []string{"MANAGED", "USER", "ABOVE", "ROOT", "after", "<!-- kept -->", "LOCAL", "SUB"} {
		i := strings.Index(all, text)
		if i <= last {
			t.Errorf("%s stands at %d, after %d in\n%s", text, i, last, all)
		}
		last = i
	}
	for _, text := range []string{"hidden", "AGENTS", "BELOW", "\r", "\ufeff"} {
		if strings.Contains(all, text) {
			t.Errorf("%q is in\n%s", text, all)
		}
	}
	if !strings.Contains(managed, "MANAGED") || strings.Contains(managed, "USER") {
		t.Errorf("of the organisation: %s", managed)
	}
	if all, _ := NewSources(Options{Cwd: o.Cwd, Home: o.Home, NoInstructions: true}).Instructions(); all != "" {
		t.Errorf("switched off, they are %q", all)
	}
	dir = tree(t, map[string]string{".git/HEAD": "", "AGENTS.md": "AGENTS"})
	if all, _ := NewSources(Options{Cwd: dir}).Instructions(); !strings.Contains(all, "AGENTS") {
		t.Errorf("without a CLAUDE.md: %q", all)
	}
}

func TestImports(t *testing.T) {
	dir := tree(t, map[string]string{
		"repo/.git/HEAD": "",
		"repo/CLAUDE.md": "See @docs/a.md, and `@docs/code.md`.\n```\n@docs/code.md\n```\nAsk @anna or @anthropic-ai/sdk. @../secret.md\n@/etc/passwd\n@loop.md @gone.md",
		"repo/docs/a.md": "A @b.md",
		"repo/docs/b.md": "B @c.md", "repo/docs/c.md": "C @d.md", "repo/docs/d.md": "D @e.md", "repo/docs/e.md": "E-TOO-DEEP",
		"repo/docs/code.md": "CODE", "repo/loop.md": "LOOP @loop.md", "secret.md": "SECRET",
		"home/.claude/CLAUDE.md": "Mine: @~/notes.md @../../secret.md", "home/notes.md": "NOTES",
	})
	at := func(s string) string { return filepath.Join(dir, s) }
	s := NewSources(Options{Cwd: at("repo")})
	all, _ := s.Instructions()
	for text, n := range map[string]int{"A @b.md": 1, "B @c.md": 1, "C @d.md": 1, "D @e.md": 1, "E-TOO-DEEP": 0, "CODE": 0, "SECRET": 0, "root:": 0, "LOOP": 1} {
		if strings.Count(all, text) != n {
			t.Errorf("%q is there %d times, want %d:\n%s", text, strings.Count(all, text), n, all)
		}
	}
	want := []string{
		at("repo/docs/d.md") + ":1: @e.md is not imported: imports go 4 files deep at most",
		at("repo/CLAUDE.md") + ":5: @../secret.md is not imported: it lies outside the project; import it from the user's own CLAUDE.md, or copy it",
		at("repo/CLAUDE.md") + ":6: @/etc/passwd is not imported: it lies outside the project; import it from the user's own CLAUDE.md, or copy it",
		at("repo/loop.md") + ":1: @loop.md is not imported: it imports itself",
		at("repo/CLAUDE.md") + ":7: @gone.md is not imported: no such file or directory",
	}
	if diff := cmp.Diff(want, s.Notes()); diff != "" {
		t.Error(diff)
	}
	if all, _ := NewSources(Options{Home: at("home")}).Instructions(); !strings.Contains(all, "NOTES") || !strings.Contains(all, "SECRET") {
		t.Errorf("the user's own imports: %s", all)
	}
}

func TestInstructionsBadFiles(t *testing.T) {
	dir := tree(t, map[string]string{
		"a/.git/HEAD": "", "a/CLAUDE.md": strings.Repeat("x", maxFile+1), "a/CLAUDE.local.md": "\xff\xfe",
		"b/.git/HEAD": "", "b/CLAUDE.local.md/x": "", "secret": "SECRET",
	})
	if err := syscall.Mkfifo(filepath.Join(dir, "b/CLAUDE.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "c/.git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "secret"), filepath.Join(dir, "c/CLAUDE.md")); err != nil {
		t.Fatal(err)
	}
	for sub, want := range map[string][]string{
		"a": {"CLAUDE.md: is left out: it is larger than 4194304 bytes", "CLAUDE.local.md: is left out: it is not UTF-8 text"},
		"b": {"CLAUDE.md: is left out: it is not a regular file", "CLAUDE.local.md: is left out: it is not a regular file"},
		"c": {"CLAUDE.md: is left out: it is a link to " + filepath.Join(dir, "secret") + ", outside the project"},
	} {
		s := NewSources(Options{Cwd: filepath.Join(dir, sub)})
		if all, _ := s.Instructions(); strings.Contains(all, "SECRET") || strings.Contains(all, "xxx") {
			t.Errorf("%s: %.100s", sub, all)
		}
		for i := range want {
			want[i] = filepath.Join(dir, sub) + "/" + want[i]
		}
		if diff := cmp.Diff(want, s.Notes()); diff != "" {
			t.Errorf("%s: %s", sub, diff)
		}
	}
}

func TestSourcesReadOnce(t *testing.T) {
	dir := tree(t, map[string]string{".git/HEAD": "", "CLAUDE.md": "ONE"})
	s := NewSources(Options{Cwd: dir})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if all, _ := s.Instructions(); !strings.Contains(all, "ONE") {
				t.Error(all)
			}
		})
	}
	wg.Wait()
	if err := os.WriteFile(filepath.Join(dir, "CLAUDE.md"), []byte("TWO"), 0o644); err != nil {
		t.Fatal(err)
	}
	if all, _ := s.Instructions(); !strings.Contains(all, "ONE") {
		t.Errorf("read again: %s", all)
	}
}

func repository(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not here")
	}
	dir := tree(t, map[string]string{"a.txt": "a"})
	for _, args := range [][]string{
		{"init", "-q", "-b", "trunk"},
		{"add", "."},
		{"-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "first commit"},
		{"config", "core.fsmonitor", "touch " + filepath.Join(dir, "ran")},
	} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	return dir
}

func TestGitState(t *testing.T) {
	dir := repository(t)
	for i := range gitLines + 5 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("new-%02d", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := NewSources(Options{Cwd: dir})
	if s.Git() != "" {
		t.Error("git was asked before Start")
	}
	s.Start(t.Context())
	s.Start(t.Context())
	got := s.Git()
	for _, text := range []string{"Branch: trunk\n", "?? new-00\n", "first commit", "(more are not shown"} {
		if !strings.Contains(got, text) {
			t.Errorf("no %q in\n%s", text, got)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("a command from the repository's configuration was run")
	}
	s.Stop()
	s.Stop()
	none := NewSources(Options{Cwd: t.TempDir()})
	none.Start(t.Context())
	if got := none.Git(); got != "" {
		t.Errorf("outside a repository: %q", got)
	}
	none.Stop()
	stopped := NewSources(Options{Cwd: dir})
	stopped.Stop()
	stopped.Start(t.Context())
	if got := stopped.Git(); got != "" {
		t.Errorf("after Stop: %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := gitState(ctx, dir); got != "" {
		t.Errorf("cancelled: %q", got)
	}
}

func TestMemoryNote(t *testing.T) {
	dir := tree(t, map[string]string{"repo/.claude/agent-memory/p-a/MEMORY.md": strings.Repeat("learned\n", memoryLines+1), "home/.claude/x": ""})
	s := NewSources(Options{Cwd: filepath.Join(dir, "repo"), Home: filepath.Join(dir, "home")})
	for memory, want := range map[string]string{
		"": "", "project": "the rest is not shown", "user": filepath.Join(dir, "home/.claude/agent-memory/p-a"), "local": "agent-memory-local/p-a",
	} {
		got := s.Fill(Input{Definition: defs.Definition{Name: "p:a", Memory: memory}}).Memory
		if memory == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: %s", memory, got)
		}
		if n := strings.Count(got, "learned"); memory == "project" && n != memoryLines {
			t.Errorf("%d lines of the memory are shown", n)
		}
	}
}

func TestFillLeavesTheOrganisationsToItself(t *testing.T) {
	dir := tree(t, map[string]string{"managed/CLAUDE.md": "BOSS", "CLAUDE.md": "PROJECT"})
	s := NewSources(Options{Cwd: dir, ManagedDir: filepath.Join(dir, "managed")})
	for source, want := range map[defs.Source][]string{defs.Managed: {"default"}, defs.User: {"default", "instructions"}} {
		steps := Build(s.Fill(Input{Definition: defs.Definition{Source: source, OmitClaudeMD: true}}))
		if diff := cmp.Diff(want, names(steps)); diff != "" {
			t.Errorf("%s: %s", source, diff)
		}
		if strings.Contains(fmt.Sprint(steps), "PROJECT") {
			t.Errorf("%s: %v", source, steps)
		}
	}
}

func TestEnvironment(t *testing.T) {
	e := Environment{Dir: "/w", Platform: "linux/amd64", Shell: "/bin/zsh", Model: "m", Date: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Who: "a"}
	if diff := cmp.Diff("Working directory: /w\nPlatform: linux/amd64\nShell: zsh\nModel: m\nDate: 2026-01-02\nYou are: a", e.String()); diff != "" {
		t.Error(diff)
	}
	if s := (Environment{}).String(); s != "" {
		t.Errorf("nowhere is %q", s)
	}
}

func FuzzImports(f *testing.F) {
	f.Add("a @b.md\n```\n@c.md\n```\n<!-- x\n--> y")
	f.Add("`@a.md` @./x @~/y\n~~~~\n~~~\n")
	f.Fuzz(func(t *testing.T, text string) {
		r := &reader{project: "/nowhere", seen: map[string]bool{}}
		out := r.imports(text, "/nowhere/f.md", "/nowhere", []string{"/nowhere/f.md"})
		if len(out) > len(text) {
			t.Fatalf("%q became %q", text, out)
		}
	})
}
