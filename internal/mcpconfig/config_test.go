package mcpconfig

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/mcpclient"
	"github.com/actorswarm/swarm/internal/trust"
)

// place is a home, a state directory and a directory with a repository.
func place(t *testing.T, files map[string]string) Options {
	t.Helper()
	top := t.TempDir()
	o := Options{
		Sources:  defs.Options{Cwd: filepath.Join(top, "repo/sub"), Home: filepath.Join(top, "home"), ManagedDir: filepath.Join(top, "managed")},
		StateDir: filepath.Join(top, "state"), Trusts: func(trust.Item) bool { return true },
		Getenv: func(name string) string { return map[string]string{"OPENAI_API_KEY": "secret", "T": "t"}[name] },
	}
	for _, dir := range []string{"repo/sub", "repo/.git", "home", "state", "managed"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		path := filepath.Join(top, name)
		text = strings.ReplaceAll(text, "CWD", o.Sources.Cwd)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func server(name, command string) string {
	return `{"mcpServers": {"` + name + `": {"command": "` + command + `"}}}`
}

// check compares the servers, as NAME=COMMAND of SCOPE, and the notes.
func check(t *testing.T, o Options, want string, notes ...string) {
	t.Helper()
	servers, got := Read(o)
	var all []string
	for _, s := range servers {
		all = append(all, s.Name+"="+s.Where()+" "+s.Scope)
	}
	if text := strings.Join(all, ", "); text != want {
		t.Errorf("the servers are %q, want %q (notes %q)", text, want, got)
	}
	if len(got) != len(notes) {
		t.Errorf("the notes are %q, want %d", got, len(notes))
		return
	}
	for i, note := range notes {
		if !strings.Contains(got[i], note) {
			t.Errorf("note %q, want %q", got[i], note)
		}
	}
}

func TestServersOfADirectoryNeedTrust(t *testing.T) {
	o := place(t, map[string]string{"repo/.mcp.json": server("a", "x"), "repo/sub/.mcp.json": server("b", "y")})
	check(t, o, "a=x project, b=y project")
	items := Items(o.Sources)
	if len(items) != 2 || items[0].Dir != o.Sources.Cwd || items[0].Text != `{"b":{"command":"y"}}` {
		t.Errorf("items %+v", items)
	}
	o.Trusts = func(i trust.Item) bool { return i == items[1] }
	check(t, o, "a=x project", "sub/.mcp.json: its MCP servers are not started, as the directory is not trusted: b; see them with: swarm trust")
	o.Trusts = nil
	check(t, o, "", "not trusted: b", "not trusted: a")
}

func TestTheStrongestPlaceWins(t *testing.T) {
	files := map[string]string{
		"state/mcp.json":     `{"mcpServers": {"a": {"command": "user"}, "u": {"command": "user"}}, "projects": {"CWD": {"mcpServers": {"a": {"command": "local"}}}}}`,
		"home/.claude.json":  `{"mcpServers": {"u": {"command": "weaker"}, "c": {"command": "claude"}}, "other": [1]}`,
		"repo/.mcp.json":     `{"mcpServers": {"a": {"command": "top"}, "p": {"command": "top"}}}`,
		"repo/sub/.mcp.json": server("p", "near"),
		"repo/flag.json":     server("f", "file"),
	}
	o := place(t, files)
	check(t, o, "a=local local, c=claude user, p=near project, u=user user")
	o.Flags = []string{`{"mcpServers": {"a": {"command": "flag"}}}`, filepath.Join(o.Sources.Cwd, "../flag.json"), `{"bare": {"command": "b"}}`}
	check(t, o, "a=flag flag, bare=b flag, c=claude user, f=file flag, p=near project, u=user user")
	o.Strict = true
	check(t, o, "a=flag flag, bare=b flag, f=file flag")
	files["managed/managed-mcp.json"] = server("m", "managed")
	o = place(t, files)
	o.Flags = []string{server("a", "flag")}
	check(t, o, "m=managed managed")
}

func TestSettingsOnlyRestrictServers(t *testing.T) {
	files := map[string]string{
		"repo/sub/.mcp.json": `{"mcpServers": {"a": {"command": "x", "args": ["1"]}, "b": {"type": "http", "url": "https://b.example/x/mcp"}, "c": {"command": "c"}, "d": {"command": "d"}}}`,
	}
	files["home/.claude/settings.json"] = `{"deniedMcpServers": [{"serverCommand": ["x", "1"]}, {"serverUrl": "https://*.example/*"}], "disabledMcpjsonServers": ["c"]}`
	check(t, place(t, files), "d=d project", "the MCP server a of ", "the MCP server b of ", "is not started: disabledMcpjsonServers of ")
	files["home/.claude/settings.json"] = `{"allowedMcpServers": [{"serverName": "a"}, {"serverName": "b"}]}`
	files["repo/sub/.claude/settings.json"] = `{"allowedMcpServers": [{"serverName": "a"}, {"serverName": "c"}]}`
	check(t, place(t, files), "a=x 1 project", "MCP server c", "MCP server d", "MCP server b")
	files["home/.claude/settings.json"] = `{"allowedMcpServers": 7}`
	delete(files, "repo/sub/.claude/settings.json")
	check(t, place(t, files), "", "allowedMcpServers cannot be read", "server a", "server b", "server c", "server d")
}

func TestAMistakeIsANote(t *testing.T) {
	o := place(t, map[string]string{"state/mcp.json": "{", "repo/sub/.mcp.json": `{"mcpServers": {"a": {}, "b": {"command": "b"}}}`})
	o.Flags = []string{"/absent.json", "{"}
	check(t, o, "b=b project", "--mcp-config /absent.json are left out", "--mcp-config is not JSON", "mcp.json: its MCP servers are left out", `"a" is left out: it has no command`, "mcp.json: its MCP servers are left out")
}

func TestADirectoryGetsNoKey(t *testing.T) {
	o := place(t, map[string]string{"repo/.mcp.json": server("a", "x ${OPENAI_API_KEY} ${T}"), "state/mcp.json": server("u", "${OPENAI_API_KEY}")})
	check(t, o, "a=x ${OPENAI_API_KEY} t project, u=secret user", "OPENAI_API_KEY")
}

func TestAddAndRemoveKeepTheRest(t *testing.T) {
	o := place(t, map[string]string{"state/mcp.json": `{"mcpServers": {"u": {"command": "u", "mine": 1}}, "rest": [1]}`})
	for _, s := range []struct{ scope, name string }{{User, "a"}, {Local, "b"}, {Project, "c"}} {
		if _, err := Add(o, s.scope, mcpclient.Server{Name: s.name, Command: s.name}); err != nil {
			t.Fatal(err)
		}
	}
	check(t, o, "a=a user, b=b local, c=c project, u=u user")
	if _, err := Remove(o, User, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := Remove(o, User, "a"); !errors.As(err, new(*NotFoundError)) {
		t.Errorf("removed twice: %v", err)
	}
	check(t, o, "b=b local, c=c project, u=u user")
	raw, err := os.ReadFile(filepath.Join(o.StateDir, stateFile))
	if err != nil || !strings.Contains(string(raw), `"mine": 1`) || !strings.Contains(string(raw), `"rest"`) {
		t.Errorf("the file is %s: %v", raw, err)
	}
	if _, err := Add(o, User, mcpclient.Server{Name: "no name"}); err == nil {
		t.Error("a server without command was added")
	}
}
