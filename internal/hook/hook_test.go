package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/actorswarm/swarm/internal/sandbox"
)

// file is a settings file with one group of hooks for the event Try.
func file(path, matcher string, handlers ...map[string]any) File {
	for _, h := range handlers {
		if h["type"] == nil {
			h["type"] = "command"
		}
	}
	raw, err := json.Marshal(map[string]any{"Stop": []any{map[string]any{"matcher": matcher, "hooks": handlers}}})
	if err != nil {
		panic(err)
	}
	return File{Path: path, Hooks: raw}
}

func command(text string) map[string]any { return map[string]any{"command": text} }

func try(t *testing.T, subject string, files ...File) []Outcome {
	t.Helper()
	s, _ := Parse(files)
	return s.Run(t.Context(), Call{Event: "Stop", Subject: subject, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}, Input: map[string]any{"name": "x"}})
}

func TestInputIsJSON(t *testing.T) {
	out := try(t, "", file("a", "", command("cat; echo $HOME; pwd >&2")))
	if len(out) != 1 || out[0].Failure() != nil {
		t.Fatalf("%+v", out)
	}
	if got := strings.TrimSpace(out[0].Stdout); got != `{"hook_event_name":"Stop","name":"x"}` {
		t.Errorf("input %q: it is JSON, and the environment is what was given", got)
	}
}

func TestLevelsAddUp(t *testing.T) {
	yes, no := true, false
	user, project := file("user", "", command("echo 1")), file("project", "", command("echo 1"), command("echo 2"))
	managed := file("managed", "", command("echo 3"))
	managed.Managed = true
	said := func(files ...File) string {
		text := ""
		for _, o := range try(t, "", files...) {
			text += o.Stdout
		}
		return strings.ReplaceAll(text, "\n", "")
	}
	if got := said(user, project, managed); got != "123" {
		t.Errorf("all of them said %q", got)
	}
	user.DisableAll = &yes
	if got := said(user, project, managed); got != "3" {
		t.Errorf("with all disabled they said %q", got)
	}
	project.DisableAll = &no
	if got := said(user, project, managed); got != "123" {
		t.Errorf("the stronger file decides; they said %q", got)
	}
	managed.ManagedOnly = true
	if got := said(user, project, managed); got != "3" {
		t.Errorf("with managed hooks only they said %q", got)
	}
}

func TestUntrustedFilesRunNothing(t *testing.T) {
	yes := true
	user, project := file("user", "", command("echo 1")), file("project", "", command("echo 2"))
	project.Untrusted, project.DisableAll = true, &yes
	out := try(t, "", user, project)
	if len(out) != 1 || out[0].Source != "user" {
		t.Errorf("it ran %+v", out)
	}
	if _, problems := Parse([]File{user, project}); len(problems) != 1 || !strings.Contains(problems[0].Error(), "not trusted") {
		t.Errorf("problems %v", problems)
	}
}

func TestInvalidHookIsAnOutcome(t *testing.T) {
	for name, f := range map[string]File{
		"type":     file("f", "", map[string]any{"type": "other"}),
		"tool":     file("f", "", map[string]any{"type": "mcp_tool", "server": "s"}),
		"prompt":   file("f", "", map[string]any{"type": "prompt"}),
		"empty":    file("f", "", command(" ")),
		"async":    file("f", "", map[string]any{"command": "true", "async": true}),
		"matcher":  file("f", "(?=x)", command("true")),
		"shape":    {Path: "f", Hooks: json.RawMessage(`{"Stop": {"hooks": []}}`)},
		"handler":  {Path: "f", Hooks: json.RawMessage(`{"Stop": [{"hooks": [{"type":"command","command":3}]}]}`)},
		"timeout":  file("f", "", map[string]any{"command": "true", "timeout": -1}),
		"shell":    file("f", "", map[string]any{"command": "true", "shell": "fish"}),
		"no start": file("f", "", map[string]any{"command": "/no/such/program", "args": []string{}}),
	} {
		out := try(t, "y", f)
		if len(out) != 1 || out[0].Err == nil || out[0].Code != -1 || out[0].Failure() == nil {
			t.Errorf("%s: %+v", name, out)
		}
		if _, problems := Parse([]File{f}); name != "no start" && name != "async" && len(problems) != 1 {
			t.Errorf("%s: problems %v", name, problems)
		}
	}
	if _, problems := Parse([]File{{Path: "f", Hooks: json.RawMessage(`[]`)}}); len(problems) != 1 {
		t.Errorf("hooks of the wrong kind: problems %v", problems)
	}
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		command string
		blocked string // "" if not
		failed  bool
	}{
		{"exit 0", "", false},
		{"echo why >&2; exit 2", "why", true},
		{`echo '{"decision":"approve","reason":"json"}'; exit 2`, "json", true},
		{`echo '{bad'; echo why >&2; exit 2`, "why", true},
		{"exit 1", "", true},
		{`echo '{"decision":"block","reason":"no"}'`, "no", false},
		{`echo '{"continue":false,"stopReason":"stop"}'; exit 3`, "stop", true},
		{"exit 127", "", true},
		{"kill -9 $$", "", true},
	} {
		out := try(t, "", file("f", "", command(c.command)))
		why, blocked := out[0].Blocked()
		if why != c.blocked || blocked != (c.blocked != "") || (out[0].Failure() != nil) != c.failed {
			t.Errorf("%s: blocked %q %v, failure %v", c.command, why, blocked, out[0].Failure())
		}
	}
	f := file("f", "", map[string]any{"command": "exit 1", "onFailure": "block"})
	if why, blocked := try(t, "", f)[0].Blocked(); blocked {
		t.Errorf("onFailure keeps an agent going: %q", why)
	}
	f.Hooks = bytes.Replace(f.Hooks, []byte("Stop"), []byte("PreToolUse"), 1)
	s, _ := Parse([]File{f})
	if why, blocked := s.Run(t.Context(), Call{Event: "PreToolUse", Dir: t.TempDir()})[0].Blocked(); !blocked || !strings.Contains(why, "onFailure is block") {
		t.Errorf("onFailure block: %q, %v", why, blocked)
	}
}

func TestMatchers(t *testing.T) {
	for _, c := range []struct {
		matcher, subject string
		want             bool
	}{
		{"", "Bash", true},
		{"*", "Bash", true},
		{"Bash", "Bash", true},
		{"Bash", "BashOutput", false},
		{"Edit|Write", "Write", true},
		{"Edit, Write", "Write", true},
		{"mcp__server", "mcp__server__tool", false},
		{"mcp__server__.*", "mcp__server__tool", true},
		{"^a:b$", "a:b", true},
		{"sh.", "Bash(x)", true},
	} {
		s, _ := Parse([]File{file("f", c.matcher, command("true"))})
		if got := s.Has("Stop", c.subject); got != c.want {
			t.Errorf("%q on %q: %v", c.matcher, c.subject, got)
		}
	}
	s, _ := Parse([]File{file("f", "other", command("true")), file("g", "", map[string]any{"command": "true", "if": "Bash(x)"})})
	if out := s.Run(t.Context(), Call{Event: "Stop", Dir: t.TempDir()}); len(out) != 1 {
		t.Errorf("an event without a subject ignores matchers, one without tools runs no conditional hook: %+v", out)
	}
	if (*Set)(nil).Has("Stop", "") {
		t.Error("no set has a hook")
	}
}

func TestNothingOutlivesAHook(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	if !sandbox.Probe().Scopes {
		t.Skip("the kernel keeps no scopes, by which what leaves its session is found")
	}
	sleeper := "sleep 600 & echo $! >>" + pids
	out := try(t, "", file("f", "",
		map[string]any{"command": sleeper + "; trap '' TERM; while :; do sleep 1; done", "timeout": 0.3},
		command(sleeper+" ; exit 0"),
		command("(setsid env -i /bin/sh -c 'echo $$ >>"+pids+"; exec >/dev/null 2>&1 </dev/null 3>&- 4>&-; while :; do /bin/sleep 600; done' &); "+
			"while ! [ -s "+pids+" ]; do sleep 0.02; done; sleep 0.1")))
	var late *TimeoutError
	if !errors.As(out[0].Err, &late) {
		t.Errorf("the slow hook: %+v", out[0])
	}
	if out[1].Failure() != nil {
		t.Errorf("a hook that leaves a process: %v", out[1].Failure())
	}
	text, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		if running(pid) {
			t.Errorf("process %d still runs", pid)
		}
	}
}

// TestHooksSeeNothingHidden: neither credentials of the user nor what the caller hides.
func TestHooksSeeNothingHidden(t *testing.T) {
	if err := sandbox.Probe().Enforces(sandbox.Open); err != nil {
		t.Skip(err)
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".ssh/id", ".swarm/journal", "notes"} {
		path := filepath.Join(home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("canary "+name), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	set, errs := Parse([]File{file("f", "", command("cat "+home+"/.ssh/id "+home+"/.swarm/journal; cat "+home+"/notes"))})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	out := set.Run(t.Context(), Call{
		Event: "Stop", Dir: home, Env: os.Environ(), Place: sandbox.Place{Home: home, Hidden: []string{home + "/.swarm"}},
	})
	if len(out) != 1 || out[0].Stdout != "canary notes" {
		t.Errorf("it says %+v", out)
	}
}

// running reports a process that is more than a zombie.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err) || syscall.Kill(pid, 0) == nil && !exists("/proc/self")
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestCancelEndsHooks(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the session ends")
	s, _ := Parse([]File{file("f", "", command("kill -USR1 $$; sleep 600"), command("sleep 600"))})
	cancel(cause)
	for _, o := range s.Run(ctx, Call{Event: "Stop", Dir: t.TempDir()}) {
		if !errors.Is(o.Err, cause) {
			t.Errorf("cancelled: %+v", o)
		}
	}
}

func TestOutputIsBounded(t *testing.T) {
	out := try(t, "", file("f", "", command("awk 'BEGIN{while(1)print 1}' | head -c 3000000")))
	if n := len(out[0].Stdout); n != MaxOutput || out[0].Failure() != nil {
		t.Errorf("kept %d bytes, %v", n, out[0].Failure())
	}
}
