package prompt

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/sandbox"
)

// TestARepositoryRunsNothingThatMatters: a filter that its configuration names changes
// nothing, and gets neither the network nor what the environment of this process holds.
func TestARepositoryRunsNothingThatMatters(t *testing.T) {
	if err := sandbox.Probe().Enforces(sandbox.Inspect); err != nil {
		t.Skip(err)
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	t.Setenv("ANTHROPIC_API_KEY", "canary")
	dir, canary := t.TempDir(), filepath.Join(t.TempDir(), "canary")
	ran := filepath.Join(dir, "ran")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	write("a", "one")
	git("add", "a")
	git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")
	write(".gitattributes", "* filter=evil\n")
	git("config", "filter.evil.clean", "env > "+canary+"; echo > "+ran+"; cat")
	write("a", "two")
	state := gitState(t.Context(), dir)
	if !strings.Contains(state, "Branch:") || !strings.Contains(state, "one") {
		t.Errorf("the state is %q", state)
	}
	for _, path := range []string{canary, ran} {
		if text, err := os.ReadFile(path); err == nil {
			t.Errorf("the filter has written %s: %s", path, text)
		}
	}
	git("status", "--short")
	if text, err := os.ReadFile(canary); err != nil || !strings.Contains(string(text), "canary") {
		t.Errorf("without a sandbox the filter writes nothing either: %s, %v", text, err)
	}
}
