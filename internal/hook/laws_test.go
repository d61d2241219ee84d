package hook

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestMatcherThatDoesNotCompileBlocks(t *testing.T) {
	out := try(t, "Bash", file("f", "(?!x)", command("true")))
	if why, blocked := out[0].Blocked(); !blocked || !strings.Contains(why, "(?!x)") {
		t.Errorf("blocked %v: %q", blocked, why)
	}
}

func TestConditionsAreForCoveredCalls(t *testing.T) {
	s, _ := Parse([]File{file("f", "", map[string]any{"command": "true", "if": "Bash(ls)"})})
	for _, covered := range []bool{true, false} {
		call := Call{Event: "Stop", Dir: t.TempDir(), Covers: func(rule string) bool { return covered && rule == "Bash(ls)" }}
		if n := len(s.Run(t.Context(), call)); n == 1 != covered {
			t.Errorf("covered %v: %d outcomes", covered, n)
		}
	}
}

func TestOnceEndsWithTheFirstSuccess(t *testing.T) {
	dir := t.TempDir()
	s, _ := Parse([]File{file("f", "", map[string]any{"command": "test -e tried || { touch tried; exit 1; }", "once": true})})
	for i, want := range []int{1, 1, 0} {
		if n := len(s.Run(t.Context(), Call{Event: "Stop", Dir: dir})); n != want {
			t.Errorf("run %d: %d outcomes, want %d", i, n, want)
		}
	}
}

func TestAsynchronousHooksAreNotAwaited(t *testing.T) {
	s, _ := Parse([]File{file("f", "", map[string]any{"command": "echo late", "async": true})})
	var all sync.WaitGroup
	late := make(chan Outcome, 1)
	out := s.Run(t.Context(), Call{
		Event: "Stop", Dir: t.TempDir(), Late: func(o Outcome) { late <- o },
		Background: func(run func(context.Context)) { all.Go(func() { run(t.Context()) }) },
	})
	all.Wait()
	if o := <-late; len(out) != 0 || o.Stdout != "late\n" {
		t.Errorf("%d outcomes, late %+v", len(out), o)
	}
}

func TestHTTPHandlers(t *testing.T) {
	type request struct{ path, token string }
	requests := make(chan request, 1) // the client may return before a slow handler does
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the end of the client is not seen
		requests <- request{r.URL.Path, r.Header.Get("X-Token")}
		switch r.URL.Path {
		case "/block":
			_, _ = w.Write([]byte(`{"decision":"block","reason":"no"}`))
		case "/text":
			_, _ = w.Write([]byte("fine"))
		case "/bad":
			w.WriteHeader(http.StatusInternalServerError)
		case "/slow":
			select {
			case <-r.Context().Done():
			case <-time.After(time.Minute):
			}
		}
	}))
	defer server.Close()
	for path, want := range map[string]struct{ blocked, failed bool }{
		"/empty": {}, "/block": {blocked: true}, "/text": {failed: true}, "/bad": {failed: true}, "/slow": {failed: true},
	} {
		h := map[string]any{"type": "http", "url": server.URL + path, "timeout": 0.5, "headers": map[string]string{"X-Token": "$A$B"}, "allowedEnvVars": []string{"A"}}
		s, problems := Parse([]File{file("f", "", h)})
		out := s.Run(t.Context(), Call{Event: "Stop", Getenv: func(name string) string { return name }})
		_, blocked := out[0].Blocked()
		if len(problems) > 0 || blocked != want.blocked || (out[0].Failure() != nil) != want.failed {
			t.Errorf("%s: %+v, %v", path, out[0], problems)
		}
		if got := <-requests; got != (request{path, "A"}) {
			t.Errorf("%s: the server got %+v", path, got)
		}
	}
	allowed := []string{"https://example.com/*"}
	limited := file("f", "", map[string]any{"type": "http", "url": server.URL + "/empty"})
	limited.URLs = &allowed
	if out := try(t, "", limited); out[0].Failure() == nil {
		t.Error("a URL that is not allowed was asked")
	}
	for _, url := range []string{"http://example.com", "ftp://localhost", "://"} {
		if _, problems := Parse([]File{file("f", "", map[string]any{"type": "http", "url": url})}); len(problems) != 1 {
			t.Errorf("%s: problems %v", url, problems)
		}
	}
}

func TestEventsThatNothingFiresAreNamed(t *testing.T) {
	f := File{Path: "f", Hooks: []byte(`{"Setup": [], "Elicitation": [], "Stop": []}`)}
	_, problems := Parse([]File{f})
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), "its hooks of these events are not run: Elicitation (MCP servers may not ask for input), Setup (") {
		t.Errorf("problems %v", problems)
	}
}

func TestEqualHooksOfTwoMatchersBothRun(t *testing.T) {
	first, second := file("f", "Bash", command("true")), file("g", "Edit", command("true"))
	for _, subject := range []string{"Bash", "Edit"} {
		if n := len(try(t, subject, first, second)); n != 1 {
			t.Errorf("%s: %d outcomes", subject, n)
		}
	}
}

func TestSettingsWithoutEffectAreNamed(t *testing.T) {
	f := file("f", "", map[string]any{"command": "true", "statusMessage": "x", "onFailure": "block", "if": "Bash", "url": "u"})
	_, problems := Parse([]File{f})
	want := "f: these settings of its hooks have no effect: onFailure of Stop, statusMessage of Stop, the handlers with if of Stop, which never run, url of Stop"
	if len(problems) != 1 || problems[0].Error() != want {
		t.Errorf("problems %v", problems)
	}
}

func TestEachFieldOfAnOutputCountsByItself(t *testing.T) {
	for _, c := range []struct {
		printed, problem string
		blocked, broken  bool
	}{
		{`{"decision":"block","reason":3}`, "cannot be read: reason", true, true},
		{`{"continue":"false","systemMessage":"x"}`, "cannot be read: continue", false, true},
		{`{"suppressOutput":true}`, "", false, false},
		{`{"later":1,"a":2}`, `no effect here: "a", "later"`, false, false},
		{`{"hookSpecificOutput":[1]}`, "it must be an object with the hookEventName Stop", false, true},
		{`{"hookSpecificOutput":{"hookEventName":"PreToolUse"}}`, "it must be an object with the hookEventName Stop", false, true},
		{`{"hookSpecificOutput":{"hookEventName":"Stop"}}`, "", false, false},
		{`{"decision":`, "begins like JSON", false, true},
	} {
		o := try(t, "", file("f", "", command("printf '%s' '"+c.printed+"'")))[0]
		_, blocked := o.Blocked()
		if !strings.Contains(o.Problem, c.problem) || (o.Problem == "") != (c.problem == "") || blocked != c.blocked || (o.Failure() != nil) != c.broken {
			t.Errorf("%s: problem %q, blocked %v, failure %v", c.printed, o.Problem, blocked, o.Failure())
		}
	}
}

func TestHooksSetVariables(t *testing.T) {
	s, _ := Parse([]File{{Path: "f", Hooks: []byte(`{"SessionStart": [{"hooks": [{"type": "command", "command": "echo export A=1 >>\"$CLAUDE_ENV_FILE\"; echo $CLAUDE_ENV_FILE"}]}],
		"Stop": [{"hooks": [{"type": "command", "command": "echo ${CLAUDE_ENV_FILE-none}"}]}]}`)}})
	out := s.Run(t.Context(), Call{Event: "SessionStart", Dir: t.TempDir()})
	if out[0].Environ != "export A=1\n" || out[0].Failure() != nil || exists(strings.TrimSpace(out[0].Stdout)) {
		t.Errorf("%+v", out[0])
	}
	if out := s.Run(t.Context(), Call{Event: "Stop", Dir: t.TempDir()}); out[0].Stdout != "none\n" {
		t.Errorf("another event: %+v", out[0])
	}
}

func TestMatchersThatMatchNoToolAreNamed(t *testing.T) {
	parse := func(matcher string) (problems []error) {
		raw, err := json.Marshal(map[string]any{"PreToolUse": []any{map[string]any{"matcher": matcher, "hooks": []any{map[string]any{"type": "command", "command": "true"}}}}})
		if err != nil {
			t.Fatal(err)
		}
		_, problems = Parse([]File{{Path: "f", Hooks: raw}})
		return problems
	}
	for _, m := range []string{"Bash(rm:*)", "Bash(rm -rf)", "Bash(rm*)", "Read(./a)", "bash", "write|edit"} {
		if p := parse(m); len(p) != 1 || !strings.Contains(p[0].Error(), "matches no tool") {
			t.Errorf("%s: %v", m, p)
		}
	}
	for _, m := range []string{"", "*", "Bash", "Edit|Write", "Notebook(Edit|Read)", "mcp__x__y", "mcp__.*", "Bash.*", "^B", "(?i)bash"} {
		if p := parse(m); len(p) != 0 {
			t.Errorf("%s: %v", m, p)
		}
	}
}

func TestAGroupWithoutHooksIsNamed(t *testing.T) {
	s, problems := Parse([]File{{Path: "f", Hooks: []byte(`{"PreToolUse": [{"matcher": "Bash", "command": "./guard.sh"}]}`)}})
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), `it has no list "hooks"`) {
		t.Errorf("%v", problems)
	}
	if l := s.List(); len(l) != 1 || l[0].Matcher != "Bash" || l[0].Fault == "" {
		t.Errorf("listed as %+v", l)
	}
}

func TestWithSharesOnce(t *testing.T) {
	s, _ := Parse([]File{file("f", "", map[string]any{"command": "true", "once": true})})
	more := s.With(file("g", "", command("echo 2")))
	if n := len(more.Run(t.Context(), Call{Event: "Stop", Dir: t.TempDir()})); n != 2 {
		t.Errorf("%d outcomes of both files", n)
	}
	if n := len(s.Run(t.Context(), Call{Event: "Stop", Dir: t.TempDir()})); n != 0 {
		t.Errorf("%d outcomes of a hook that has run", n)
	}
	yes := true
	off, _ := Parse([]File{{Path: "f", DisableAll: &yes}})
	if off.With(file("g", "", command("true"))).Has("Stop", "") {
		t.Error("a file that is disabled runs hooks")
	}
}

// judge is a Judge that has one answer.
type judge struct {
	answer string
	asked  []Question
}

func (j *judge) Judge(_ context.Context, q Question) (string, error) {
	j.asked = append(j.asked, q)
	return j.answer, nil
}

func TestAnswersDecide(t *testing.T) {
	no := `{"ok": false, "reason": "bad"}`
	for _, c := range []struct {
		event, kind, answer string
		feedback            bool
		blocked, ends       bool
	}{
		{"Stop", "prompt", `{"ok": true}`, false, false, false},
		{"Stop", "prompt", "It is so:\n" + no, false, true, false},
		{"Stop", "prompt", `{"ok": false, "impossible": true}`, false, false, false},
		{"PreToolUse", "prompt", no, false, true, true},
		{"PreToolUse", "prompt", no, true, true, false},
		{"PreToolUse", "agent", no, false, true, false},
		{"PermissionRequest", "prompt", no, false, false, false},
		{"UserPromptSubmit", "prompt", no, true, true, true},
		{"PostToolUseFailure", "prompt", no, false, true, false},
		{"Stop", "prompt", "maybe", false, false, false},
	} {
		j := &judge{answer: c.answer}
		h := map[string]any{"type": c.kind, "prompt": `Is \$ARGUMENTS in $ARGUMENTS fine?`, "continueOnBlock": c.feedback}
		f := file("f", "", h)
		f.Hooks = []byte(strings.Replace(string(f.Hooks), "Stop", c.event, 1))
		s, _ := Parse([]File{f})
		o := s.Run(t.Context(), Call{Event: c.event, Judge: j})[0]
		_, blocked := o.Blocked()
		ends := o.Output != nil && o.Output.Continue != nil
		if blocked != c.blocked || ends != c.ends || (o.Failure() != nil) != (c.answer == "maybe") {
			t.Errorf("%+v: blocked %v, ends %v, %v", c, blocked, ends, o.Failure())
		}
		want := `Is $ARGUMENTS in {"hook_event_name":"` + c.event + `"} fine?`
		if len(j.asked) != 1 || j.asked[0].Prompt != want || j.asked[0].Agent != (c.kind == "agent") {
			t.Errorf("asked %+v", j.asked)
		}
	}
	if _, problems := Parse([]File{{Path: "f", Hooks: []byte(`{"SessionStart": [{"hooks": [{"type": "prompt", "prompt": "x"}]}]}`)}}); len(problems) != 1 {
		t.Errorf("a prompt at SessionStart: %v", problems)
	}
}

// servers answers a call of a tool with its input.
type servers struct{}

func (servers) CallTool(_ context.Context, server, tool string, input json.RawMessage) (string, error) {
	return server + " " + tool + " " + string(input), nil
}

func TestToolsOfServersGetTheEvent(t *testing.T) {
	h := map[string]any{"type": "mcp_tool", "server": "s", "tool": "t", "input": map[string]any{"a": []any{"x ${in.path} ${in} ${gone}", 3}}}
	s, _ := Parse([]File{file("f", "", h)})
	call := Call{Event: "Stop", Input: map[string]any{"in": map[string]any{"path": "p"}}, Servers: servers{}}
	if o := s.Run(t.Context(), call)[0]; o.Stdout != `s t {"a":["x p {\"path\":\"p\"} ",3]}` || o.Failure() != nil {
		t.Errorf("%+v", o)
	}
	if o := s.Run(t.Context(), Call{Event: "Stop"})[0]; o.Failure() == nil {
		t.Error("without servers it succeeded")
	}
}
