package swarm_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors/spawn"
)

func TestARehearsalPlansWithoutAModelAndLeavesNothing(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	agents := filepath.Join(dir, ".claude", "agents")
	if err := os.MkdirAll(agents, 0o700); err != nil {
		t.Fatal(err)
	}
	file := "---\nname: scout\ndescription: Looks.\ntools: Read, Grep\npermissionMode: plan\n---\nLook.\n"
	if err := os.WriteFile(filepath.Join(agents, "scout.md"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := swarm.Rehearse(swarm.Options{
		Dir: dir, Home: home, Mode: "acceptEdits", Deny: []string{"Grep"}, Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := r.Plan(spawn.Call{Type: "scout", Prompt: "p"})
	if err != nil {
		t.Fatal(err)
	}
	if s := plan.Spec; !slices.Equal(s.Tools, []string{"Read"}) || s.Mode != "plan" || s.Model != "sonnet" || s.Model != r.Lead().Model {
		t.Errorf("planned %+v", s)
	}
	if _, err := r.Plan(spawn.Call{Type: "scuot", Prompt: "p"}); err == nil || !strings.Contains(err.Error(), "scout") {
		t.Errorf("an unknown type gives %v", err)
	}
	if left, _ := os.ReadDir(home); len(left) != 0 {
		t.Errorf("left in the home directory: %v", left)
	}
}
