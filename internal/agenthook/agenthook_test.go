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

// own is a definition with a hook.
func own(event, command string) hook.File {
	f := file(event, command)
	f.Agent = true
	return f
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
	failing := hook.File{Path: "f", Hooks: json.RawMessage(`{"PreToolUse":[{"hooks":[{"type":"command","command":"exit 3","onFailure":"block"}]}]}`)}
	wrong := hook.File{Path: "f", Hooks: json.RawMessage(`{"PreToolUse":[{"matcher":3,"hooks":[{"type":"command","command":"true"}]}]}`)}
	for name, c := range map[string]struct {
		f    hook.File
		want Behavior
	}{
		"exit 2":           {file("PreToolUse", "echo no >&2; exit 2"), Deny},
		"exit 2, allowing": {file("PreToolUse", says("allow")+"; exit 2"), Deny},
		"matcher":          {matcher, Deny},
		"matcher's type":   {wrong, Deny},
		"wrong word":       {file("PreToolUse", says("dney")), Deny},
		"wrong type":       {file("PreToolUse", `echo '{"hookSpecificOutput":{"permissionDecision":7}}'`), Deny},
		"one wrong field":  {file("PreToolUse", `echo '{"decision":"block","reason":7}'`), Deny},
		"empty stderr":     {file("PreToolUse", "exit 2"), Deny},
		"closed stdin":     {file("PreToolUse", "exec <&-; exit 2"), Deny},
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
		Own: func(s agent.Spec) (hook.File, bool) { return own("Stop", "echo on >&2; exit 2"), s.Type == "worker" },
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

func TestAsyncRewakeWakesTheAgent(t *testing.T) {
	raw := `{"PreToolUse":[{"hooks":[{"type":"command","asyncRewake":true,"command":"echo up >&2; exit 2"}]}]}`
	var roused []string
	h := New(Options{
		Dir: t.TempDir(), Scope: t.Context(), Load: func() []hook.File { return []hook.File{{Path: "f", Hooks: json.RawMessage(raw)}} },
		Rouse: func(a agent.Spec, text string) error { roused = append(roused, string(a.ID)+": "+text); return nil },
	})
	if d := h.PreToolUse(t.Context(), spec(), bash("ls")); d.Behavior != None {
		t.Errorf("an asynchronous hook decided: %+v", d)
	}
	h.Wait()
	if !slices.Equal(roused, []string{"a: up"}) {
		t.Errorf("roused with %q", roused)
	}
}

func TestOnceIsForAllAgents(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "ran")
	raw, err := json.Marshal(map[string]any{"PreToolUse": []any{map[string]any{"hooks": []any{
		map[string]any{"type": "command", "once": true, "command": "echo x >>" + marker},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	h := New(Options{
		Dir: t.TempDir(), Load: func() []hook.File { return []hook.File{{Path: "f", Hooks: raw}} },
		Own: func(s agent.Spec) (hook.File, bool) { return own("Stop", "true"), s.Type == "worker" },
	})
	other := spec()
	other.Type = "other"
	for _, a := range []agent.Spec{spec(), other, spec()} {
		h.PreToolUse(t.Context(), a, bash("ls"))
	}
	if text, err := os.ReadFile(marker); string(text) != "x\n" {
		t.Errorf("it wrote %q, %v", text, err)
	}
}

func TestPermissionRequestAnswersAndGrants(t *testing.T) {
	answers := func(decision string) string {
		return `echo '{"hookSpecificOutput":{"decision":` + decision + `}}'`
	}
	for name, c := range map[string]struct {
		command string
		want    Behavior
		stop    string
		granted string
		warned  bool
	}{
		"allow":     {answers(`{"behavior":"allow","updatedPermissions":[{"type":"addRules","behavior":"allow","rules":[{"toolName":"Bash","ruleContent":"ls"}]}]}`), Allow, "", "Bash(ls)", false},
		"other":     {answers(`{"behavior":"allow","updatedPermissions":[{"type":"setMode","mode":"bypassPermissions","destination":"session"}, 3]}`), Allow, "", "", true},
		"deny":      {answers(`{"behavior":"deny","message":"no","updatedPermissions":[{"type":"addRules","behavior":"allow","rules":[{"toolName":"Bash"}]}]}`), Deny, "", "", false},
		"interrupt": {answers(`{"behavior":"deny","message":"no","interrupt":true}`), Deny, "no", "", false},
		"exit 2":    {"echo no >&2; exit 2", None, "", "", true},
		"ask":       {`echo '{"hookSpecificOutput":{"permissionDecision":"ask"}}'`, None, "", "", false},
	} {
		w, granted := &warnings{}, ""
		h := New(Options{
			Dir: t.TempDir(), Load: func() []hook.File { return []hook.File{file("PermissionRequest", c.command)} }, Warn: w.add,
			Grant: func(rules []string) error { granted += strings.Join(rules, " "); return nil },
		})
		d := h.PermissionRequest(t.Context(), spec(), bash("ls"))
		if d.Behavior != c.want || d.Stop != c.stop || granted != c.granted || len(w.texts) > 0 != c.warned {
			t.Errorf("%s: %+v, granted %q, warnings %q", name, d, granted, w.texts)
		}
	}
}

func TestALongTextGoesToAFile(t *testing.T) {
	saved := ""
	h := New(Options{
		Dir: t.TempDir(), Load: func() []hook.File {
			return []hook.File{file("UserPromptSubmit", "head -c 20000 /dev/zero | tr '\\0' x")}
		},
		Save: func(_ agent.Spec, _, text string) (string, error) { saved = text; return "/there", nil },
	})
	e := h.UserPromptSubmit(t.Context(), spec(), "go")
	if len(saved) != 20000 || len(e.Context) != 1 || len(e.Context[0]) > 3000 || !strings.HasSuffix(e.Context[0], "all 20000 bytes are in /there)") {
		t.Errorf("saved %d bytes, the context is %.100q", len(saved), e.Context)
	}
}

func TestHooksThatStartSessionsEnd(t *testing.T) {
	depth := ""
	for level := range maxDepth {
		if err := CheckDepth(func(string) string { return depth }); err != nil {
			t.Fatalf("at level %d: %v", level, err)
		}
		h := New(Options{
			Dir: t.TempDir(), Load: func() []hook.File { return []hook.File{file("UserPromptSubmit", "echo $SWARM_HOOK_DEPTH")} },
			Getenv: func(name string) string {
				if name == "PATH" {
					return os.Getenv(name)
				}
				return depth
			},
		})
		if e := h.UserPromptSubmit(t.Context(), spec(), "go"); len(e.Context) == 1 {
			depth = e.Context[0]
		}
	}
	if err := CheckDepth(func(string) string { return depth }); err == nil {
		t.Errorf("at depth %q a session starts", depth)
	}
}
