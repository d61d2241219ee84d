package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/tool"
)

// A command that is moved keeps running, returns its call, and loses nothing of
// its output; the next command does not wait for it.
func TestADetachedCommandRunsOnWithAllOfItsOutput(t *testing.T) {
	ended := make(chan Task, 1)
	k := newKit(t, func(e *Env) { e.OnTask = func(t Task) { ended <- t } })
	bash := k.tool("Bash")
	results := make(chan tool.Result, 1)
	go func() {
		r, err := bash.Run(t.Context(), call(t, bash, in{"command": "echo before; touch started; until [ -e go ]; do sleep 0.01; done; echo after; exit 5"}))
		if err != nil {
			t.Error(err)
		}
		results <- r
	}()
	waitUntil(t, "the command", func() bool { _, err := os.Stat(filepath.Join(k.dir, "started")); return err == nil })
	moved := k.background().Detach()
	if len(moved) != 1 {
		t.Fatalf("moved: %+v", moved)
	}
	r := <-results
	if r.IsError || !strings.Contains(r.Text, moved[0].ID) {
		t.Errorf("the call returned %+v", r)
	}
	k.ok("Bash", in{"command": "touch go"})
	got := <-ended
	if got.ID != moved[0].ID || got.State != TaskExited || got.ExitCode != 5 {
		t.Errorf("it ended as %+v", got)
	}
	if raw, err := os.ReadFile(got.Output); err != nil || string(raw) != "before\nafter\n" {
		t.Errorf("its file holds %q, %v", raw, err)
	}
}

func TestWithoutACommandThereIsNothingToDetach(t *testing.T) {
	k := newKit(t)
	k.ok("Bash", in{"command": "true"})
	if moved := k.background().Detach(); len(moved) != 0 {
		t.Errorf("moved: %+v", moved)
	}
}
