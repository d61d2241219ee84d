package swarm_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/model"
)

// project makes a directory with files.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		put(t, filepath.Join(dir, name), text)
	}
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func sessionIn(t *testing.T, dir string, m model.Model, o swarm.Options) *swarm.Session {
	t.Helper()
	o.Dir, o.Mode = dir, cmp.Or(o.Mode, "bypassPermissions")
	if o.StateDir == "" {
		o.StateDir = t.TempDir()
	}
	if o.Home == "" {
		o.Home = t.TempDir()
	}
	o.Getenv = func(string) string { return "" }
	o.Models = func(name string) (model.Model, string, error) { return m, name, nil }
	s, err := swarm.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// heads records what the first request of each agent begins with.
type heads struct {
	mu   sync.Mutex
	text map[string]string // guarded by mu
}

func (h *heads) keep(name string, r *model.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.text == nil {
		h.text = map[string]string{}
	}
	if h.text[name] == "" {
		h.text[name] = fmt.Sprintf("%s\n%s", r.System, r.Tools)
	}
}

// TestSystemPromptHoldsWhatIsWrittenForIt lets two agents of different types
// start and compares their system prompts.
func TestSystemPromptHoldsWhatIsWrittenForIt(t *testing.T) {
	dir := project(t, map[string]string{
		"CLAUDE.md":                "Indent with tabs.",
		".claude/agents/worker.md": "---\nname: worker\ndescription: works\ncriticalSystemReminder: Wash your hands.\n---\nYou work hard.",
	})
	if out, err := exec.Command("git", "-C", dir, "init", "-q", "-b", "trunk").CombinedOutput(); err != nil {
		t.Skipf("git is not here: %v %s", err, out)
	}
	var seen heads
	done := func(name string) func(context.Context, int, *model.Request) *model.Answer {
		return func(_ context.Context, _ int, r *model.Request) *model.Answer {
			seen.keep(name, r)
			return coordinatortest.Say("done")
		}
	}
	m := coordinatortest.By(coordinatortest.Answers{
		agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
			seen.keep("lead", r)
			if step > 0 {
				return coordinatortest.Say("done")
			}
			return coordinatortest.Use(
				coordinatortest.Spawn("1", map[string]any{"description": "d", "prompt": "p", "name": "ann", "subagent_type": "worker"}),
				coordinatortest.Spawn("2", map[string]any{"description": "d", "prompt": "p", "name": "bob", "subagent_type": "Explore"}))
		},
		"ann": done("ann"), "bob": done("bob"),
	})
	s := sessionIn(t, dir, m, swarm.Options{Deny: []string{"Agent(Plan)"}})
	run(t, s, "go")
	for name, want := range map[string]struct{ has, lacks []string }{
		"lead": {[]string{"You lead a swarm", "Indent with tabs.", "Branch: No commits yet on trunk", "- Explore:", "- worker: works"}, []string{"- Plan:", "Wash"}},
		"ann":  {[]string{"You work hard.", "teammate named", "Working directory: ", "Indent with tabs.", "Branch: ", "Wash your hands."}, []string{"You lead"}},
		"bob":  {[]string{"Working directory: ", "read-only"}, []string{"Indent with tabs.", "Branch: "}},
	} {
		rest := seen.text[name]
		for _, text := range want.has {
			_, after, ok := strings.Cut(rest, text)
			if !ok {
				t.Errorf("%s is not told %q after what stands before it:\n%.3000s", name, text, seen.text[name])
				continue
			}
			rest = after
		}
		for _, text := range want.lacks {
			if strings.Contains(seen.text[name], text) {
				t.Errorf("%s is told %q:\n%s", name, text, seen.text[name])
			}
		}
	}
	if _, ok := s.Definitions().Lookup("Plan"); ok {
		t.Error("a denied type is offered")
	}
}

// TestDefinitionsAreFollowed adds, edits and deletes a file while the session
// runs.
func TestDefinitionsAreFollowed(t *testing.T) {
	dir := project(t, map[string]string{".claude/agents/worker.md": "---\nname: worker\ndescription: works\n---\nYou work."})
	m := coordinatortest.By(coordinatortest.Answers{
		agent.LeadName: func(_ context.Context, step int, _ *model.Request) *model.Answer {
			if step > 0 {
				return coordinatortest.Say("done")
			}
			return coordinatortest.Use(coordinatortest.Spawn("1", map[string]any{"description": "d", "prompt": "p", "name": "ann", "subagent_type": "worker"}))
		},
		"ann": func(context.Context, int, *model.Request) *model.Answer { return coordinatortest.Say("done") },
	})
	s := sessionIn(t, dir, m, swarm.Options{})
	run(t, s, "go")
	sub := s.Events()
	defer sub.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	warned := func(text string) {
		t.Helper()
		for {
			e, err := sub.Next(ctx)
			if err != nil {
				t.Fatalf("nobody warns of %q: %v", text, err)
			}
			if w, ok := e.Fact.(event.Warning); ok && strings.Contains(w.Text, text) {
				return
			}
		}
	}
	path := filepath.Join(dir, ".claude/agents/worker.md")
	put(t, path, "---\nname: worker\ndescription: works\n---\nYou work harder.")
	warned("the definition of worker was changed in " + path + "; ann goes on with the one it was started with")
	if d, _ := s.Definitions().Lookup("worker"); d.Body != "You work harder." {
		t.Errorf("the type is still %q", d.Body)
	}
	put(t, filepath.Join(dir, ".claude/agents/bad.md"), "---\nname: bad\n---\n")
	warned(`agent "bad" has no description`)
	put(t, filepath.Join(dir, ".claude/agents/late.md"), "---\nname: late\ndescription: d\n---\n")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	warned("the definition of worker was removed")
	if _, ok := s.Definitions().Lookup("late"); !ok {
		t.Errorf("the added type is missing: %v", s.Definitions().Names())
	}
	if _, ok := s.Definitions().Lookup("worker"); ok {
		t.Error("the deleted type is still there")
	}
}
