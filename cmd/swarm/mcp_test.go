package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpLead answers a greeting, and otherwise with the last text that it was sent.
const mcpLead = `
rules:
  - when: {agent: lead, mail: hello}
    say: {calls: [{tool: SendMessage, input: {to: ext, message: "what do you see?", summary: s}}]}
  - say: {text: ok}
`

// mcpSession serves a session for members outside.
func mcpSession(t *testing.T) *lab {
	t.Helper()
	l := newLab(t, map[string]string{"s.yaml": mcpLead})
	started := l.run("serve", "--detach", "--session-id", "mcptest", "--model", "script:s.yaml")
	if started.code != 0 {
		t.Fatalf("serve: %+v", started)
	}
	t.Cleanup(func() { l.run("quit", "mcptest") })
	return l
}

// TestAnMCPProgramIsATeammate has the client of the Go SDK as a member.
func TestAnMCPProgramIsATeammate(t *testing.T) {
	t.Parallel()
	l := mcpSession(t)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: l.command("mcp", "--name", "ext")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	call := func(name string, args map[string]any) map[string]any {
		t.Helper()
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		if r.IsError {
			t.Fatalf("%s %v: %+v", name, args, r.Content[0])
		}
		out, _ := r.StructuredContent.(map[string]any)
		return out
	}
	call("send", map[string]any{"to": "team-lead", "message": "hello"})
	raw, err := json.Marshal(call("inbox", map[string]any{"wait_seconds": 50}))
	if err != nil || !strings.Contains(string(raw), "what do you see?") {
		t.Fatalf("the inbox is %s, %v", raw, err)
	}
	call("tasks", map[string]any{"action": "create", "subject": "look around"})
	call("tasks", map[string]any{"action": "claim", "id": "1"})
	call("tasks", map[string]any{"action": "complete", "id": "1"})
	if got := l.run("tasks", "mcptest"); !strings.Contains(got.out, "1. [completed] look around (ext)") {
		t.Errorf("the list is %+v", got)
	}
	id, _ := call("ask", map[string]any{"question": "which?", "options": []string{"red", "blue"}, "wait_seconds": 0})["id"].(string)
	if got := l.run("approvals", "answer", id, "blue"); got.code != 0 {
		t.Fatalf("approvals: %+v", got)
	}
	if a := call("ask", map[string]any{"id": id}); a["state"] != "answered" {
		t.Errorf("the answer is %v", a)
	}
	if err := s.Close(); err != nil {
		t.Errorf("swarm mcp ended with %v", err)
	}
}

// mcpNode is a program that nobody here wrote the protocol of.
const mcpNode = `
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
const [swarm, dir] = process.argv.slice(2);
const client = new Client({ name: "node", version: "1" });
await client.connect(new StdioClientTransport({ command: swarm, args: ["mcp", "--name", "ext", "--dir", dir], env: process.env }));
const call = async (name, args) => {
  const r = await client.callTool({ name, arguments: args });
  if (r.isError) throw new Error(JSON.stringify(r.content));
  return r.structuredContent;
};
console.log((await client.listTools()).tools.map((t) => t.name).sort().join(" "));
await call("send", { to: "team-lead", message: "hello" });
const { messages } = await call("inbox", { wait_seconds: 40 });
console.log(messages[0].from, messages[0].text);
await call("tasks", { action: "create", subject: "look around" });
await call("tasks", { action: "claim", id: "1" });
await call("tasks", { action: "complete", id: "1" });
await client.close();
console.log("done");
`

// TestTheMCPClientOfNodeIsATeammate has the client of the TypeScript SDK as a member.
func TestTheMCPClientOfNodeIsATeammate(t *testing.T) {
	t.Parallel()
	node := nodeModules(t, "@modelcontextprotocol/sdk@1.32.2")
	l := mcpSession(t)
	swarm, err := exec.LookPath("swarm")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(node, "member-"+filepath.Base(filepath.Dir(l.dir))+".mjs")
	if err := os.WriteFile(script, []byte(mcpNode), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(script) })
	cmd := exec.CommandContext(t.Context(), "node", script, swarm, l.dir)
	cmd.Dir, cmd.Env = node, l.env
	out, err := cmd.CombinedOutput()
	if want := "ask inbox send tasks\nteam-lead what do you see?\ndone\n"; err != nil || string(out) != want {
		t.Errorf("the program said %s, %v; not %s", out, err, want)
	}
	if got := l.run("tasks", "mcptest"); !strings.Contains(got.out, "1. [completed] look around (ext)") {
		t.Errorf("the list is %+v", got)
	}
}

// nodeModules installs packages for node into the user's cache and returns its
// directory. Without node, npm or a registry the test is skipped.
func nodeModules(t *testing.T, pkgs ...string) string {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed: it is needed for the client of another vendor")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("there is no place for the packages of npm: %v", err)
	}
	dir := filepath.Join(cache, "swarm-test", strings.NewReplacer("/", "_", "@", "_").Replace(strings.Join(pkgs, "+")))
	if _, err := os.Stat(filepath.Join(dir, "installed")); err == nil {
		return dir
	}
	cmd := exec.CommandContext(t.Context(), "npm", append([]string{"install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", dir}, pkgs...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("npm cannot get %s: %v: %s", pkgs, err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "installed"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
