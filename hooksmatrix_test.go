package swarm

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/hook"
)

// fired are the inputs of hooks.
type fired struct {
	mu  sync.Mutex
	all []map[string]any // guarded by mu
}

func (f *fired) add(t *testing.T, raw []byte) {
	var in map[string]any
	if err := json.Unmarshal(raw, &in); err != nil {
		t.Errorf("the input %q is not JSON: %v", raw, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, in)
}

// of counts the events of the lead, or of all other agents.
func (f *fired) of(lead bool) map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := map[string]int{}
	for _, in := range f.all {
		if _, child := in["agent_id"]; child != lead {
			n[in["hook_event_name"].(string)]++
		}
	}
	return n
}

// everyHook names one handler for each event that something fires.
func everyHook(handler map[string]any) []byte {
	events := map[string]any{}
	for _, e := range hook.Events() {
		if e.Fires() && !strings.HasPrefix(e.Name, "Worktree") && (e.Judged || !judged(handler["type"])) {
			events[e.Name] = []any{map[string]any{"hooks": []any{handler}}}
		}
	}
	raw, err := json.Marshal(map[string]any{"hooks": events})
	if err != nil {
		panic(err)
	}
	return raw
}

// work is what the agent of interest does.
const work = `  - when: {agent: WHO, step: 0}
    say: {calls: [{tool: Bash, input: {command: "true"}}]}
  - when: {agent: WHO, step: 1}
    say: {calls: [{tool: Bash, input: {command: "exit 3"}}]}
  - when: {agent: WHO, step: 2}
    say: {calls: [{tool: TaskCreate, input: {subject: s, description: d}}]}
  - when: {agent: WHO, step: 3}
    say: {calls: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}]}
  - when: {agent: WHO, step: 4}
    say: {calls: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}
  - when: {agent: WHO, step: 5}
    say: {calls: [{tool: Bash, input: {command: "cd sub"}}]}
`

// hookedAgents are the kinds of agents, by the input of the call that starts them.
func hookedAgents() map[string]struct {
	who, call string
	where     agent.Place
	more      []string // events besides those of work
} {
	type kind = struct {
		who, call string
		where     agent.Place
		more      []string
	}
	return map[string]kind{
		"lead":       {who: "lead", more: []string{"SessionStart", "SessionEnd", "UserPromptSubmit", "Stop", "InstructionsLoaded"}},
		"child":      {who: "general-purpose", call: "subagent_type: general-purpose", more: []string{"SubagentStart", "SubagentStop"}},
		"background": {who: "general-purpose", call: "subagent_type: general-purpose, run_in_background: true", more: []string{"SubagentStart", "SubagentStop"}},
		"fork":       {who: "fork", call: "subagent_type: fork", more: []string{"SubagentStart", "SubagentStop"}},
		"teammate":   {who: "ben", call: "name: ben", more: []string{"SubagentStart", "SubagentStop", "TeammateIdle"}},
		"process":    {who: "ben", call: "name: ben", where: agent.InProcess, more: []string{"SubagentStart", "SubagentStop", "TeammateIdle"}},
		"pane":       {who: "ben", call: "name: ben", where: agent.InTmux, more: []string{"SubagentStart", "SubagentStop", "TeammateIdle"}},
	}
}

// TestEachHookFiresOnceForEachKindOfAgent runs one handler at each event and lets one agent
// of each kind do something that each event is about. The everyday run has each type of
// handler once, with several kinds; the long run has all types with all kinds.
func TestEachHookFiresOnceForEachKindOfAgent(t *testing.T) {
	cells := [][2]string{{"command", "lead"}, {"command", "teammate"}, {"http", "fork"}, {"mcp_tool", "lead"}, {"mcp_tool", "child"}, {"prompt", "background"}, {"agent", "lead"}}
	if os.Getenv("SWARM_SOAK") != "" {
		cells = nil
		for _, typ := range []string{"command", "http", "mcp_tool", "prompt", "agent"} {
			for _, kind := range slices.Sorted(maps.Keys(hookedAgents())) {
				cells = append(cells, [2]string{typ, kind})
			}
		}
	}
	for _, c := range cells {
		t.Run(c[0]+" "+c[1], func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath("tmux"); c[1] == "pane" && err != nil {
				t.Skip("there is no tmux")
			}
			testHooksOf(t, c[0], c[1])
		})
	}
}

// judged reports the types of handlers that a model answers.
func judged(typ any) bool { return typ == "prompt" || typ == "agent" }

// allFields are the fields of all events, for handlers that name what they want.
func allFields() (all []string) {
	for _, fields := range eventFields() {
		all = append(all, fields...)
	}
	slices.Sort(all)
	return slices.Compact(append(all, "hook_event_name"))
}

// handlerOf returns a handler of a type that adds what it gets to seen, or to a log, and what a
// session needs for it.
func handlerOf(t *testing.T, typ, log string, seen *fired) (handler map[string]any, change func(*Options), before string) {
	none := func(*Options) {}
	serve := func(h http.Handler) string {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		return server.URL
	}
	body := func(r *http.Request) []byte {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		return raw
	}
	switch typ {
	case "http":
		url := serve(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen.add(t, body(r)) }))
		return map[string]any{"type": typ, "url": url}, none, ""
	case "prompt", "agent":
		url := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var req struct{ Messages []struct{ Content any } }
			if err := json.Unmarshal(body(r), &req); err != nil || len(req.Messages) == 0 {
				t.Errorf("a request with %v: %v", req, err)
				return
			}
			text, _ := req.Messages[len(req.Messages)-1].Content.(string)
			seen.add(t, []byte(text))
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"{\\\"ok\\\":true}\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		}))
		getenv := func(o *Options) {
			o.Getenv = func(name string) string {
				if name == "OPENAI_BASE_URL" {
					return url
				}
				return os.Getenv(name)
			}
		}
		return map[string]any{"type": typ, "prompt": "$ARGUMENTS", "model": "openai:judge"}, getenv, "\nexport OPENAI_BASE_URL=" + url
	case "mcp_tool":
		server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
		server.AddTool(&mcp.Tool{Name: "note", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			in := map[string]any{}
			if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
				t.Error(err)
			}
			maps.DeleteFunc(in, func(_ string, value any) bool { return value == "" })
			raw, err := json.Marshal(in)
			seen.add(t, raw)
			return &mcp.CallToolResult{}, err
		})
		url := serve(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
		input := map[string]any{}
		for _, name := range allFields() {
			input[name] = "${" + name + "}"
		}
		config := func(o *Options) { o.MCP = []string{`{"notes": {"type": "http", "url": "` + url + `"}}`} }
		return map[string]any{"type": typ, "server": "notes", "tool": "note", "input": input}, config, ""
	}
	return map[string]any{"type": "command", "command": `cat >>"` + log + `"`}, none, ""
}

func testHooksOf(t *testing.T, typ, kind string) {
	k, seen, log := hookedAgents()[kind], &fired{}, filepath.Join(t.TempDir(), "log")
	handler, change, before := handlerOf(t, typ, log, seen)
	rules := strings.ReplaceAll(work, "WHO", k.who)
	if k.call != "" {
		rules += fmt.Sprintf("  - when: {agent: lead, step: 0}\n    say: {calls: [{tool: Agent, input: {description: d, prompt: begin, %s}}]}\n", k.call)
	}
	s := apart(t, `export HOME="$(dirname "$0")"`+before, rules+"  - say: {text: done}\n", func(o *Options) {
		o.Policy.Where, o.Policy.ForkMode = k.where, kind == "fork"
		change(o)
		for name, text := range map[string][]byte{".claude/settings.json": everyHook(handler), "CLAUDE.md": []byte("Be brief.\n"), "sub/a": nil} {
			path := filepath.Join(o.Dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
	if _, err := s.Run(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if typ == "command" {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			seen.add(t, []byte(line))
		}
	}
	want := map[string]int{
		"PreToolUse": 6, "PostToolUse": 5, "PostToolUseFailure": 1, "PostToolBatch": 6, "TaskCreated": 1, "TaskCompleted": 1, "CwdChanged": 1,
	}
	switch kind {
	case "fork": // the answer that forked it was the first
		want["PreToolUse"], want["PostToolUse"], want["PostToolBatch"] = 5, 4, 5
	case "background": // it has no tools for tasks
		want["PreToolUse"], want["PostToolUse"] = 3, 2
		delete(want, "TaskCreated")
		delete(want, "TaskCompleted")
	}
	for _, event := range k.more {
		want[event] = 1
	}
	if judged(typ) {
		maps.DeleteFunc(want, func(name string, _ int) bool {
			e, _ := hook.FindEvent(name)
			return !e.Judged
		})
	}
	if got := seen.of(kind == "lead"); !maps.Equal(got, want) {
		t.Errorf("fired %v, want %v", got, want)
	}
	for _, in := range seen.all {
		checkFields(t, s.ID(), typ, in)
	}
}

// eventFields are the fields that the input of each event has, "" those of all.
func eventFields() map[string][]string {
	tools := []string{"tool_name", "tool_input", "tool_use_id"}
	return map[string][]string{
		"":           {"session_id", "cwd", "transcript_path", "permission_mode"},
		"PreToolUse": tools, "PostToolUse": append([]string{"tool_response", "duration_ms"}, tools...), "PostToolUseFailure": append([]string{"error"}, tools...),
		"PostToolBatch": {"tool_calls"}, "TaskCreated": {"task_id", "task_subject", "task_description", "team_name"},
		"TaskCompleted": {"task_id", "task_subject"}, "CwdChanged": {"old_cwd", "new_cwd"}, "SessionStart": {"source", "model"}, "SessionEnd": {"reason"},
		"UserPromptSubmit": {"prompt"}, "Stop": {"stop_hook_active", "last_assistant_message", "background_tasks", "session_crons"},
		"SubagentStart": {"agent_id", "agent_type"}, "SubagentStop": {"agent_id", "agent_type", "agent_transcript_path", "stop_hook_active", "last_assistant_message"},
		"TeammateIdle": {"teammate_name", "team_name"}, "InstructionsLoaded": {"file_path", "memory_type", "load_reason"},
	}
}

// checkFields holds the input of a hook to what its event has. A handler of type mcp_tool
// does not tell an empty text from none.
func checkFields(t *testing.T, session, typ string, in map[string]any) {
	t.Helper()
	of := eventFields()
	for _, name := range append(of[""], of[in["hook_event_name"].(string)]...) {
		if _, ok := in[name]; !ok && (typ != "mcp_tool" || name != "tool_response" && name != "team_name") {
			t.Errorf("%s has no %s: %v", in["hook_event_name"], name, in)
		}
	}
	if in["session_id"] != session {
		t.Errorf("%s is of session %v", in["hook_event_name"], in["session_id"])
	}
}
