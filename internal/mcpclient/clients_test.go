package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/actorswarm/swarm/internal/sandbox"
	"github.com/actorswarm/swarm/tool"
)

// patience bounds waits that only guard progress.
const patience = 60 * time.Second

// fixture are clients of one server.
type fixture struct {
	*Clients
	t       *testing.T
	changed chan string

	mu    sync.Mutex
	lines []string // of warnings; guarded by mu
}

// hostileServer is this test binary as a server.
func hostileServer(t *testing.T, name, mode string) Server {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{Name: name, Source: "a test", Type: "stdio", Command: exe, Env: map[string]string{serverMode: mode}}
}

func start(t *testing.T, o Options, servers ...Server) *fixture {
	t.Helper()
	f := &fixture{t: t, changed: make(chan string, 100)}
	o.Servers, o.Dir = servers, t.TempDir()
	o.Place = sandbox.Place{Dirs: []string{o.Dir}, Getenv: os.Getenv}
	if o.Getenv == nil {
		o.Getenv = func(name string) string {
			return map[string]string{"PATH": os.Getenv("PATH"), "ANTHROPIC_API_KEY": "sk-ant-1"}[name]
		}
	}
	o.Warn = func(text string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.lines = append(f.lines, text)
	}
	o.Changed = func(name string) { f.changed <- name }
	f.Clients = New(t.Context(), o)
	t.Cleanup(f.Close)
	f.Start()
	if late := f.Await(t.Context(), patience); len(late) > 0 {
		t.Fatalf("late: %v", late)
	}
	return f
}

func (f *fixture) warnings() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.lines, "\n")
}

// call calls a tool of the server "h".
func (f *fixture) call(name, text string) tool.Result {
	f.t.Helper()
	input, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		f.t.Fatal(err)
	}
	r, err := f.Tools([]string{"mcp__h__" + name})[0].Run(f.t.Context(), tool.Call{Name: name, Input: input})
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

func (f *fixture) wantCall(name, text, want string) {
	f.t.Helper()
	if r := f.call(name, text); !strings.Contains(r.Text, want) {
		f.t.Errorf("%s returned %.300q, want %q", name, r.Text, want)
	}
}

func TestToolsOfAServerWork(t *testing.T) {
	t.Parallel()
	f := start(t, Options{}, hostileServer(t, "h", "good"))
	if names := f.Names(); !slices.Contains(names, "mcp__h__echo") {
		t.Fatalf("names %v, warned %s", names, f.warnings())
	}
	f.wantCall("echo", "one\ttwo\n", "one\ttwo\n")
	f.wantCall("progress", "", "done")
	f.wantCall("absent", "", "the MCP server h has no tool mcp__h__absent any more")
	if r := f.call("fail", ""); !r.IsError || r.Text != "the disk is full" {
		t.Errorf("a failure is %+v", r)
	}
	if r := f.call("refuse", ""); !r.IsError || !strings.Contains(r.Text, "MCP server h: ") || !strings.Contains(r.Text, "not that") {
		t.Errorf("a refusal is %+v", r)
	}
	if text, err := f.CallTool(t.Context(), "h", "echo", json.RawMessage(`{"text": "hook"}`)); err != nil || text != "hook" {
		t.Errorf("CallTool returned %q, %v", text, err)
	}
	if _, err := f.CallTool(t.Context(), "other", "echo", nil); !errors.As(err, new(*UnknownError)) {
		t.Errorf("another server: %v", err)
	}
	if s := f.Status()[0]; s.State != "connected" || len(s.Tools) != 11 {
		t.Errorf("status %+v", s)
	}
}

func TestWhatAServerSaysIsBounded(t *testing.T) {
	t.Parallel()
	f := start(t, Options{}, hostileServer(t, "h", "rude"), hostileServer(t, "many", "many"), hostileServer(t, "big", "good"))
	var names []string
	for _, t := range f.Tools(nil) {
		if strings.HasPrefix(t.Spec().Name, "mcp__h__") {
			names = append(names, t.Spec().Name)
		}
	}
	if want := []string{"mcp__h__plain", "mcp__h__a_b", "mcp__h__a__0_b", "mcp__h__long"}; !slices.Equal(names, want) {
		t.Errorf("tools %q, want %q", names, want)
	}
	plain := f.Tools([]string{"mcp__h__plain"})[0].Spec()
	if plain.Description != "A red and turned text.\nSecond line." || string(plain.Schema) != `{"properties":{"a":{},"b":{}},"type":"object"}` {
		t.Errorf("plain is %q with %s", plain.Description, plain.Schema)
	}
	if d := f.Tools([]string{"mcp__h__long"})[0].Spec().Description; len(d) > maxDescription+3 {
		t.Errorf("a description of %d bytes", len(d))
	}
	if n := len(f.Names()); n != 4+maxTools+11 {
		t.Errorf("%d tools", n)
	}
	warned := f.warnings()
	for _, want := range []string{"have the name of another one: a.b", "more than 256 KiB: large", "no schema of an object: text", "come after the first 1000"} {
		if !strings.Contains(warned, want) {
			t.Errorf("warned %q, which lacks %q", warned, want)
		}
	}
	if strings.ContainsAny(warned, "\x1b\x00") {
		t.Errorf("warned %q", warned)
	}
	r, err := f.Tools([]string{"mcp__big__large"})[0].Run(t.Context(), tool.Call{})
	if err != nil || len(r.Text) > maxText+100 || !strings.Contains(r.Text, "cut: the server sent") {
		t.Errorf("a large result has %d bytes: %v", len(r.Text), err)
	}
}

func TestAServerThatHangsDelaysNobody(t *testing.T) {
	t.Parallel()
	servers := []Server{hostileServer(t, "h", "good"), hostileServer(t, "slow", "silent")}
	warned := make(chan string, 9)
	dir := t.TempDir()
	c := New(t.Context(), Options{
		Servers: servers, Dir: dir, Place: sandbox.Place{Dirs: []string{dir}, Getenv: os.Getenv}, Getenv: os.Getenv,
		Warn: func(text string) { warned <- text }, Changed: func(string) {},
	})
	t.Cleanup(c.Close)
	c.Start()
	for c.Names() == nil {
		if late := c.Await(t.Context(), 10*time.Millisecond); !slices.Contains(late, "slow") {
			t.Fatalf("late: %v", late)
		}
	}
	if late := c.Await(t.Context(), time.Millisecond); !slices.Equal(late, []string{"slow"}) {
		t.Errorf("late: %v", late)
	}
	if late := c.StartFor(t.Context(), []string{"mcp__h__echo"}, time.Hour); late != nil {
		t.Errorf("the server of a tool waits for %v", late)
	}
	o := Options{StartTimeout: time.Second}
	f := start(t, o, servers[1])
	if want := "the MCP server slow of a test cannot be used: it did not answer within 1s"; f.warnings() != want {
		t.Errorf("warned %q, want %q", f.warnings(), want)
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	f := start(t, Options{}, hostileServer(t, "h", "good"))
	ctx, cancel := context.WithCancelCause(t.Context())
	mine := errors.New("stop")
	time.AfterFunc(50*time.Millisecond, func() { cancel(mine) })
	if _, err := f.Tools([]string{"mcp__h__never"})[0].Run(ctx, tool.Call{}); !errors.Is(err, mine) {
		t.Errorf("the call ended with %v", err)
	}
	f.wantCall("echo", "still there", "still there")
}

func TestACallEndsWithItsLimit(t *testing.T) {
	t.Parallel()
	f := start(t, Options{IdleTimeout: 100 * time.Millisecond}, hostileServer(t, "h", "good"))
	if r := f.call("never", ""); !r.IsError || r.Text != "MCP server h: it did not answer within 100ms" {
		t.Errorf("a silent server: %+v", r)
	}
	f = start(t, Options{CallTimeout: 100 * time.Millisecond}, hostileServer(t, "h", "good"))
	if r := f.call("never", ""); !r.IsError || r.Text != "MCP server h: it did not finish within 100ms" {
		t.Errorf("a slow server: %+v", r)
	}
}

func TestAServerThatDiesIsStartedAgainOnce(t *testing.T) {
	t.Parallel()
	f := start(t, Options{}, hostileServer(t, "h", "good"), hostileServer(t, "gone", "dead"))
	if want := "the MCP server gone of a test cannot be used: it ended (exit status 4): no such database"; !strings.Contains(f.warnings(), want) {
		t.Errorf("warned %q, want %q", f.warnings(), want)
	}
	const died = "MCP server h: it ended (exit status 3): panic: out of luck"
	f.wantCall("die", "", died)
	f.wantCall("echo", "again", "(the MCP server h had ended and was started again)\nagain")
	f.wantCall("echo", "and again", "and again")
	f.wantCall("die", "", died)
	f.wantCall("die", "", died) // started again for this call
	f.wantCall("echo", "", "the MCP server h of a test cannot be used: it ended (exit status 3): panic: out of luck")
	f.wantCall("echo", "", "cannot be used")
	if !strings.Contains(f.warnings(), "the MCP server h has ended: it ended (exit status 3): panic: out of luck; the next call") {
		t.Errorf("warned %q", f.warnings())
	}
}

func TestNoiseIsSkipped(t *testing.T) {
	t.Parallel()
	start(t, Options{}, hostileServer(t, "h", "noise")).wantCall("echo", "heard", "heard")
}

func TestAFloodEndsTheServer(t *testing.T) {
	t.Parallel()
	f := start(t, Options{}, hostileServer(t, "h", "good"))
	f.wantCall("flood", "", "it printed more than 16 MiB that are no messages")
	f.wantCall("echo", "well", "well")
}

func TestAChangedListIsReadAnew(t *testing.T) {
	t.Parallel()
	f := start(t, Options{}, hostileServer(t, "h", "good"))
	f.wantCall("change", "", "changed")
	for deadline := time.After(patience); !slices.Contains(f.Names(), "mcp__h__fresh"); {
		select {
		case <-f.changed:
		case <-deadline:
			t.Fatalf("the tools are %v", f.Names())
		}
	}
}

func TestNothingIsLeftOfAServer(t *testing.T) {
	t.Parallel()
	if sandbox.Probe().Landlock < 6 {
		t.Skip("this kernel has no scope for the processes of a command")
	}
	f := start(t, Options{}, hostileServer(t, "h", "good"))
	pid, err := strconv.Atoi(f.call("daemon", "").Text)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatalf("the daemon is not there: %v", err)
	}
	f.Close()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) { // a killed process takes a moment
		raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(raw), ") Z ") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("a process is left: %s", raw)
		}
	}
	if r := f.call("echo", ""); !strings.Contains(r.Text, "the session is ending") {
		t.Errorf("a call after the end: %+v", r)
	}
}

func TestAServerGetsNoKey(t *testing.T) {
	t.Parallel()
	f := start(t, Options{}, hostileServer(t, "h", "good"))
	env := f.call("environment", "").Text
	if strings.Contains(env, "sk-ant-1") || !strings.Contains(env, serverMode+"=good") || !strings.Contains(env, "CLAUDE_PROJECT_DIR="+f.options.Dir) {
		t.Errorf("the environment is %q", env)
	}
}

func TestServersOverHTTP(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Text string `json:"text"`
	},
	) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "got " + in.Text}}}, nil, nil
	})
	get := func(*http.Request) *mcp.Server { return server }
	mux := http.NewServeMux()
	keyed := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Key") != "k" {
				http.Error(w, "no key", http.StatusUnauthorized)
				return
			}
			h.ServeHTTP(w, r)
		})
	}
	mux.Handle("/mcp", keyed(mcp.NewStreamableHTTPHandler(get, nil)))
	mux.Handle("/sse", keyed(mcp.NewSSEHandler(get, nil)))
	mux.Handle("/away", http.RedirectHandler("http://127.0.0.2:1/mcp", http.StatusTemporaryRedirect))
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	key := map[string]string{"X-Key": "k"}
	f := start(t, Options{},
		Server{Name: "h", Type: "http", URL: web.URL + "/mcp", Headers: key}, Server{Name: "s", Type: "sse", URL: web.URL + "/sse", Headers: key},
		Server{Name: "keyless", Source: "f", Type: "http", URL: web.URL + "/mcp"}, Server{Name: "away", Source: "f", Type: "http", URL: web.URL + "/away", Headers: key})
	f.wantCall("echo", "http", "got http")
	if text, err := f.CallTool(t.Context(), "s", "echo", json.RawMessage(`{"text": "sse"}`)); err != nil || text != "got sse" {
		t.Errorf("SSE returned %q, %v", text, err)
	}
	for _, want := range []string{"the MCP server keyless of f cannot be used: ", "redirects to 127.0.0.2:1"} {
		if !strings.Contains(f.warnings(), want) {
			t.Errorf("warned %q, which lacks %q", f.warnings(), want)
		}
	}
	f.Close() // before the server, which waits for its streams
}

func TestParse(t *testing.T) {
	env := func(name string) string { return map[string]string{"TOKEN": "t"}[name] }
	servers, problems := Parse(json.RawMessage(`{
		"a": {"command": "x", "args": ["${TOKEN}", "${NONE:-d}"], "env": {"K": "${NONE}"}},
		"b": {"type": "streamable-http", "url": "https://h/${TOKEN}", "headers": {"A": "Bearer ${TOKEN}"}},
		"c": {"url": "https://h"}, "d": {"type": "ws", "url": "ws://h"}, "e": {"command": ""}, "f__g": {"command": "x"},
		"h": {"type": "http", "url": "file:///x"}, "i": {"type": "http", "url": "http://h", "oauth": {}}, "j": {"command": "x", "timeout": 5}, "k": 7
	}`), "f.json", env)
	if len(servers) != 2 || servers[0].Where() != "x t d" || servers[1].URL != "https://h/t" || servers[1].Headers["A"] != "Bearer t" || servers[1].Type != "http" {
		t.Errorf("servers %+v", servers)
	}
	text := errors.Join(problems...).Error()
	for _, want := range []string{
		`f.json: the MCP server "a" refers to the variable NONE, which is not set`, `"c" is left out: it has a url and no type`, `"d" is left out: the type "ws"`,
		`"e" is left out: it has no command`, `"f__g" is left out: a name`, `"h" is left out: its url`, `"i" is left out: oauth is not supported`,
		`"j" is left out: timeout`, `"k" is left out`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("problems %s lack %q", text, want)
		}
	}
	if _, problems := Parse(json.RawMessage(`[]`), "f", env); len(problems) != 1 {
		t.Errorf("a list: %v", problems)
	}
}
