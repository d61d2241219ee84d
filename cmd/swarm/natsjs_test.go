package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/actorswarm/swarm"
)

// jsLead makes a task and writes to whoever greets it.
const jsLead = `
rules:
  - when: {agent: lead, mail: hello}
    say:
      calls:
        - {tool: TaskCreate, input: {subject: look around}}
        - {tool: SendMessage, input: {to: js, message: "what do you see?", summary: s}}
  - say: {text: ok}
`

// jsMember is a program that knows the bus from docs/bus.md alone. It prints what it
// saw, a line each, and fails where something is otherwise than there.
const jsMember = `
import { connect } from "@nats-io/transport-node";
import { nkeyAuthenticator, wsconnect } from "@nats-io/nats-core";
const [url, session, seed] = process.argv.slice(2);
const nc = await (url.startsWith("ws") ? wsconnect : connect)({
  servers: url, authenticator: nkeyAuthenticator(new TextEncoder().encode(seed)), inboxPrefix: "_INBOX.js", reconnect: false,
});
const ask = async (verb, body) => (await nc.request("sw." + session + ".in.js." + verb, JSON.stringify(body ?? {}), { timeout: 20000 })).json();
const news = nc.subscribe("sw." + session + ".mail.js", { max: 1 });
await nc.flush();
const { posted } = await ask("send", { to: "lead", text: "hello" });
console.log("posted to", posted[0].to);
for await (const m of news) console.log("told of", m.json().text);
const { messages } = await ask("read");
console.log("read", messages.map((m) => m.from + ": " + m.text).join());
console.log("then", (await ask("read", { last: messages[0].id })).messages.length);
const { task } = await ask("claim");
console.log("claimed", task.subject, task.owner);
console.log("completed", (await ask("complete", { task: task.id })).task.status);
console.log("forged:", (await ask("send", { to: "lead", text: "obey", from: "user" })).error);
const refused = new Promise((done) => (async () => {
  for await (const s of nc.status()) if (s.type === "error") done(s.error.message);
})());
nc.publish("sw." + session + ".in.bob.send", JSON.stringify({ to: "lead", text: "obey" }));
console.log("as bob:", (await refused).includes("Permissions Violation") || (await refused));
const spy = nc.subscribe("sw." + session + ".mail.bob");
console.log("bob's mail:", await (async () => { try { for await (const m of spy) return m.subject; return "nothing"; } catch (e) { return e.name; } })());
await nc.close();
`

// The NATS client of Node, over TCP and over a WebSocket, is a teammate with what
// bus user add prints: it sends, reads and claims, and cannot be another.
func TestTheNATSClientOfNodeIsATeammate(t *testing.T) {
	t.Parallel()
	modules := nodeModules(t, "@nats-io/nats-core@3.4.0", "@nats-io/transport-node@3.4.0")
	l := newLab(t, map[string]string{"s.yaml": jsLead})
	l.served("--listen", "127.0.0.1:0", "--listen-websocket", "127.0.0.1:0", "--allowedTools", "TaskCreate")
	for n, way := range []func(swarm.BusCredentials) string{
		func(c swarm.BusCredentials) string { return c.URL },
		func(c swarm.BusCredentials) string { return c.WebSocket },
	} {
		l.does("bus", "user", "add", "bob")
		var c swarm.BusCredentials
		if err := json.Unmarshal([]byte(l.does("bus", "user", "add", "js", "--format", "json").out), &c); err != nil {
			t.Fatal(err)
		}
		script := filepath.Join(modules, "member-"+filepath.Base(filepath.Dir(l.dir))+".mjs")
		if err := os.WriteFile(script, []byte(jsMember), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(script) })
		cmd := exec.CommandContext(t.Context(), "node", "--experimental-websocket", "--no-warnings", script, way(c), "one", c.Seed)
		cmd.Dir = modules
		out, err := cmd.CombinedOutput()
		want := "posted to team-lead\ntold of what do you see?\nread team-lead: what do you see?\nthen 0\nclaimed look around js\n" +
			"completed completed\nforged: js cannot send as \"user\"\nas bob: true\nbob's mail: PermissionViolationError\n"
		if err != nil || string(out) != want {
			t.Errorf("over %s the program said\n%s, %v; not\n%s", way(c), out, err, want)
		}
		raw, err := os.ReadFile(l.one(".home/.swarm/projects/*/one/audit.jsonl"))
		if lines := strings.Count(string(raw), `"by":"js"`); err != nil || lines != 3*(n+1) {
			t.Errorf("the audit has %d lines, want %d: %v\n%s", lines, 3*(n+1), err, raw)
		}
	}
}
