package agenthook

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/hook"
)

// file is a settings file with commands for one event.
func file(event string, commands ...string) hook.File {
	var handlers []any
	for _, c := range commands {
		handlers = append(handlers, map[string]any{"type": "command", "command": c})
	}
	raw, err := json.Marshal(map[string]any{event: []any{map[string]any{"hooks": handlers}}})
	if err != nil {
		panic(err)
	}
	return hook.File{Path: "settings.json", Hooks: raw}
}

type warnings struct {
	mu    sync.Mutex
	texts []string
}

func (w *warnings) add(_ agent.Spec, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

func hooksOf(t *testing.T, w *warnings, files ...hook.File) *Hooks {
	t.Helper()
	return New(Options{Session: "s", Dir: t.TempDir(), Load: func() []hook.File { return files }, Warn: w.add, Scope: t.Context()})
}

func spec() agent.Spec { return agent.Spec{ID: "a", Type: "worker", Role: agent.Foreground} }

func bash(text string) Call {
	input, err := json.Marshal(map[string]string{"command": text})
	if err != nil {
		panic(err)
	}
	return Call{ID: "c", Name: "Bash", Input: input}
}

func says(behavior string) string {
	return `echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"` + behavior + `","permissionDecisionReason":"` + behavior + `"}}'`
}

func TestTheStrictestDecides(t *testing.T) {
	for _, c := range []struct {
		commands []string
		want     Behavior
	}{
		{[]string{"true"}, None},
		{[]string{says("allow")}, Allow},
		{[]string{says("allow"), says("ask")}, Ask},
		{[]string{says("defer"), says("allow")}, Ask},
		{[]string{says("ask"), says("deny"), says("allow")}, Deny},
	} {
		d := hooksOf(t, &warnings{}, file("PreToolUse", c.commands...)).PreToolUse(t.Context(), spec(), bash("ls"))
		if d.Behavior != c.want {
			t.Errorf("%q: %v, want %v", c.commands, d.Behavior, c.want)
		}
	}
	d := hooksOf(t, &warnings{}, file("PreToolUse", `echo '{"hookSpecificOutput":{"updatedInput":{"command":"pwd"},"additionalContext":"note"}}'`)).PreToolUse(t.Context(), spec(), bash("ls"))
	if string(d.Input) != `{"command":"pwd"}` || !slices.Equal(d.Context, []string{"note"}) {
		t.Errorf("the input is %s, the context %q", d.Input, d.Context)
	}
}

func TestWhatDenies(t *testing.T) {
	matcher := hook.File{Path: "f", Hooks: json.RawMessage(`{"PreToolUse":[{"matcher":"(?!x)","hooks":[{"type":"command","command":"true"}]}]}`)}
	failing := hook.File{Path: "f", Hooks: json.RawMessage(`{"PreToolUse":[{"hooks":[{"type":"prompt","onFailure":"block"}]}]}`)}
	for name, c := range map[string]struct {
		f    hook.File
		want Behavior
	}{
		"exit 2":           {file("PreToolUse", "echo no >&2; exit 2"), Deny},
		"exit 2, allowing": {file("PreToolUse", says("allow")+"; exit 2"), Deny},
		"matcher":          {matcher, Deny},
		"onFailure":        {failing, Deny},
		"exit 1":           {file("PreToolUse", "exit 1"), None},
		"dies":             {file("PreToolUse", "kill -9 $$"), None},
		"no JSON":          {file("PreToolUse", "echo '{bad'"), None},
	} {
		w := &warnings{}
		d := hooksOf(t, w, c.f).PreToolUse(t.Context(), spec(), bash("ls"))
		if d.Behavior != c.want || d.Behavior == Deny && d.Reason == "" {
			t.Errorf("%s: %+v", name, d)
		}
		if c.want == None && len(w.texts) != 1 {
			t.Errorf("%s: the warnings are %q", name, w.texts)
		}
	}
}

func TestNoHookCostsNothing(t *testing.T) {
	h := New(Options{})
	if d := h.PreToolUse(t.Context(), spec(), bash("ls")); d.Behavior != None {
		t.Errorf("without hooks: %+v", d)
	}
	marker := filepath.Join(t.TempDir(), "ran")
	other := hooksOf(t, &warnings{}, file("PostToolUse", "touch "+marker))
	other.PreToolUse(t.Context(), spec(), bash("ls"))
	if _, err := os.Stat(marker); err == nil {
		t.Error("a hook of another event ran")
	}
}

func TestHooksOfADefinitionAreItsAgentsOwn(t *testing.T) {
	h := New(Options{
		Dir: t.TempDir(), Load: func() []hook.File { return nil },
		Own: func(s agent.Spec) (hook.File, bool) { return file("Stop", "echo on >&2; exit 2"), s.Type == "worker" },
	})
	if e := h.Stop(t.Context(), spec(), "done", false); !e.Blocked || e.Reason != "on" {
		t.Errorf("the agent's own hook: %+v", e)
	}
	other := spec()
	other.Type = "other"
	if e := h.Stop(t.Context(), other, "done", false); e.Blocked {
		t.Errorf("another agent: %+v", e)
	}
}

func TestAFailureIsToldOnce(t *testing.T) {
	w := &warnings{}
	h := hooksOf(t, w, file("PreToolUse", "echo broken >&2; exit 7"))
	for range 3 {
		h.PreToolUse(t.Context(), spec(), bash("ls"))
	}
	if len(w.texts) != 1 || !strings.Contains(w.texts[0], "exit code 7: broken") {
		t.Errorf("the warnings are %q", w.texts)
	}
}

func TestAsynchronousHooksReportLater(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	raw := `{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","async":true,"command":"echo '{\"hookSpecificOutput\":{\"additionalContext\":\"later\"}}'"}]},
		{"matcher":"Read","hooks":[{"type":"command","async":true,"command":"sleep 600"}]}]}`
	h := New(Options{Dir: t.TempDir(), Scope: ctx, Load: func() []hook.File { return []hook.File{{Path: "f", Hooks: json.RawMessage(raw)}} }})
	h.PreToolUse(t.Context(), spec(), bash("ls"))
	h.Wait()
	if e := h.UserPromptSubmit(t.Context(), spec(), "go"); !slices.Equal(e.Context, []string{"later"}) {
		t.Errorf("the context is %q", e.Context)
	}
	read := bash("x")
	read.Name = "Read"
	h.PreToolUse(t.Context(), spec(), read)
	cancel()
	h.Wait()
}
