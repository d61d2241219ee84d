package swarm_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/coordinatortest"
	"github.com/actorswarm/swarm/model"
)

// withHooks writes the user's settings with one hook for each event, and returns the home.
func withHooks(t *testing.T, commands map[string]map[string]any) (home string) {
	t.Helper()
	events := map[string]any{}
	for event, h := range commands {
		if h["type"] == nil {
			h["type"] = "command"
		}
		events[event] = []any{map[string]any{"hooks": []any{h}}}
	}
	raw, err := json.Marshal(map[string]any{"hooks": events})
	if err != nil {
		t.Fatal(err)
	}
	home = t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(home, ".claude"), 0o700), os.WriteFile(filepath.Join(home, ".claude", "settings.json"), raw, 0o600)); err != nil {
		t.Fatal(err)
	}
	return home
}

// once uses a call at its first step and then says what it has seen.
func once(call model.Block) model.Model {
	return coordinatortest.By(coordinatortest.Answers{
		agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
			if step == 0 {
				return coordinatortest.Use(call)
			}
			return coordinatortest.Say("saw " + seen(r))
		},
	})
}

// seen returns the results and texts of the last message.
func seen(r *model.Request) string {
	var b strings.Builder
	for _, block := range r.Messages[len(r.Messages)-1].Blocks() {
		b.WriteString(block.Text + string(block.Content))
	}
	return b.String()
}

func bashCall(line string) model.Block {
	return coordinatortest.Call("c1", "Bash", map[string]any{"command": line})
}

func TestADeferredCallEndsTheSessionAndIsDecidedAnew(t *testing.T) {
	answer := filepath.Join(t.TempDir(), "answer")
	if err := os.WriteFile(answer, []byte("defer"), 0o600); err != nil {
		t.Fatal(err)
	}
	home := withHooks(t, map[string]map[string]any{"PreToolUse": {
		"command": `printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"%s"}}' $(cat ` + answer + `)`,
	}})
	o := swarm.Options{Home: home, StateDir: t.TempDir(), Mode: "default"}
	dir := t.TempDir()
	s := sessionIn(t, dir, once(bashCall("echo ran")), o)
	_, err := s.Run(t.Context(), "go")
	var deferred *actors.DeferredError
	if !errors.As(err, &deferred) || deferred.Tool != "Bash" || deferred.ID != "c1" || !strings.Contains(string(deferred.Input), "echo ran") {
		t.Fatalf("the run ended with %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(answer, []byte("allow"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Session = s.ID()
	again := sessionIn(t, dir, once(bashCall("echo ran")), o)
	r, err := again.Resume(t.Context())
	if err != nil || !strings.Contains(r.Text, "ran") {
		t.Errorf("after the deferral: %q, %v", r.Text, err)
	}
}

func TestHooksSetVariablesOfCommands(t *testing.T) {
	home := withHooks(t, map[string]map[string]any{"SessionStart": {"command": `echo 'export FROM_HOOK="it is set"' >>"$CLAUDE_ENV_FILE"`}})
	s := sessionIn(t, t.TempDir(), once(bashCall("echo [$FROM_HOOK]")), swarm.Options{Home: home})
	r, err := s.Run(t.Context(), "go")
	if err != nil || !strings.Contains(r.Text, "[it is set]") {
		t.Errorf("%q, %v", r.Text, err)
	}
}

func TestAnAsynchronousHookWakesTheAgent(t *testing.T) {
	home := withHooks(t, map[string]map[string]any{"PreToolUse": {"command": "echo wake up >&2; exit 2", "asyncRewake": true}})
	woken := make(chan string, 8)
	m := coordinatortest.By(coordinatortest.Answers{
		agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
			if step == 0 {
				return coordinatortest.Use(bashCall("true"))
			}
			if text := seen(r); strings.Contains(text, "wake up") {
				woken <- text
			}
			return coordinatortest.Say("done")
		},
	})
	s := sessionIn(t, t.TempDir(), m, swarm.Options{Home: home})
	if err := s.Say("go"); err != nil {
		t.Fatal(err)
	}
	<-woken
}

func TestAPromptHookKeepsTheAgentGoing(t *testing.T) {
	home := withHooks(t, map[string]map[string]any{"Stop": {"type": "prompt", "prompt": "Is the work done?"}})
	m := coordinatortest.By(coordinatortest.Answers{
		"hook": func(_ context.Context, _ int, r *model.Request) *model.Answer {
			if strings.Contains(seen(r), "second") {
				return coordinatortest.Say(`{"ok": true}`)
			}
			return coordinatortest.Say(`{"ok": false, "reason": "say second"}`)
		},
		agent.LeadName: func(_ context.Context, _ int, r *model.Request) *model.Answer {
			if strings.Contains(seen(r), "say second") {
				return coordinatortest.Say("second")
			}
			return coordinatortest.Say("first")
		},
	})
	s := sessionIn(t, t.TempDir(), m, swarm.Options{Home: home})
	r, err := s.Run(t.Context(), "go")
	if err != nil || r.Text != "second" {
		t.Errorf("%q, %v", r.Text, err)
	}
}
