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
	"github.com/actorswarm/swarm/model/modeltest"
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

// logged is a hook that adds its input to a file, and what reads the file.
func logged(t *testing.T) (command string, read func() string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	return `cat >>"` + path + `"`, func() string {
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
		return string(text)
	}
}

func TestHooksOfFilesAndSettingsFireWhenTheyChange(t *testing.T) {
	command, log := logged(t)
	home := withHooks(t, map[string]map[string]any{"ConfigChange": {"command": command}, "FileChanged": {"command": command}})
	path := filepath.Join(home, ".claude", "settings.json")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw = []byte(strings.Replace(string(raw), `"FileChanged":[{`, `"FileChanged":[{"matcher":".env|other",`, 1))
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := sessionIn(t, dir, once(bashCall("true")), swarm.Options{Home: home})
	if _, err := s.Run(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	// The first look of the watcher may still be to come, so the file changes until it is seen.
	text := ""
	coordinatortest.Eventually(t, "the file's change is seen", func() bool {
		text += "x"
		if err := os.WriteFile(filepath.Join(dir, ".env"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(log(), `"hook_event_name":"FileChanged"`)
	})
	if !strings.Contains(log(), `"file_path":"`+filepath.Join(dir, ".env")+`"`) {
		t.Errorf("the log is %s", log())
	}
	if err := os.WriteFile(path, append(raw, '\n', '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(raw), "other", "another", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	coordinatortest.Eventually(t, "the change of the settings is seen", func() bool {
		return strings.Contains(log(), `"hook_event_name":"ConfigChange"`) && strings.Contains(log(), `"source":"user_settings"`)
	})
}

func TestHooksDecideAboutAnotherModel(t *testing.T) {
	command, log := logged(t)
	home := withHooks(t, map[string]map[string]any{
		"PreModelSwitch":  {"command": `grep -q '"to_model":"no"' && { echo never >&2; exit 2; }; exit 0`},
		"PostModelSwitch": {"command": command},
	})
	s := sessionIn(t, t.TempDir(), once(bashCall("true")), swarm.Options{Home: home})
	if _, err := s.Run(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if err := s.SetModel("no"); err == nil || !strings.Contains(err.Error(), "never") || log() != "" {
		t.Errorf("the error is %v, the log %q", err, log())
	}
	if err := s.SetModel("yes"); err != nil || !strings.Contains(log(), `"to_model":"yes"`) {
		t.Errorf("the error is %v, the log %q", err, log())
	}
}

func TestAFailureOfTheModelFiresStopFailure(t *testing.T) {
	command, log := logged(t)
	home := withHooks(t, map[string]map[string]any{"StopFailure": {"command": command}})
	m := modeltest.Turn(func(context.Context, *model.Request) (*model.Answer, error) {
		return nil, model.NewError(401, "authentication_error", "no", 0)
	})
	s := sessionIn(t, t.TempDir(), m, swarm.Options{Home: home})
	if _, err := s.Run(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log(), `"error":"authentication_failed"`) || strings.Count(log(), "\n") != 1 {
		t.Errorf("the log is %q", log())
	}
}

func TestHooksBlockTasks(t *testing.T) {
	home := withHooks(t, map[string]map[string]any{
		"TaskCreated":   {"command": `grep -q bad && { echo not this >&2; exit 2; }; exit 0`},
		"TaskCompleted": {"command": `echo test it first >&2; exit 2`},
	})
	m := coordinatortest.By(coordinatortest.Answers{
		agent.LeadName: func(_ context.Context, step int, r *model.Request) *model.Answer {
			calls := []model.Block{
				coordinatortest.Call("1", "TaskCreate", map[string]any{"subject": "bad"}),
				coordinatortest.Call("2", "TaskCreate", map[string]any{"subject": "good"}),
				coordinatortest.Call("3", "TaskUpdate", map[string]any{"taskId": "2", "status": "in_progress"}),
				coordinatortest.Call("4", "TaskUpdate", map[string]any{"taskId": "2", "status": "completed"}),
				coordinatortest.Call("5", "TaskList", nil),
			}
			if step == 0 {
				return coordinatortest.Use(calls...)
			}
			return coordinatortest.Say(seen(r))
		},
	})
	s := sessionIn(t, t.TempDir(), m, swarm.Options{Home: home})
	r, err := s.Run(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"the task was not created: blocked by a hook: not this", "the task was not completed: blocked by a hook: test it first", "2. [in progress] good"} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("%q is missing in %s", want, r.Text)
		}
	}
	if strings.Contains(r.Text, "] bad") {
		t.Errorf("the task is on the list: %s", r.Text)
	}
}
