package permission

import (
	"encoding/json"
	"testing"

	"github.com/actorswarm/swarm/internal/sandbox"
)

// TestTheSandboxHoldsCommands: with the sandbox enabled no command runs under more than
// edit unless it is excluded or a person has allowed it without, and what no rule is about
// is not asked about.
func TestTheSandboxHoldsCommands(t *testing.T) {
	on := Sandbox{Enabled: true, AutoAllow: true, Excluded: []string{"docker"}, Unsandboxed: true}
	asks, strict := on, on
	asks.AutoAllow, strict.Unsandboxed = false, false
	const free = `,"dangerouslyDisableSandbox":true`
	for _, c := range []struct {
		name, command, more string
		by                  Sandbox
		mode                Mode
		want                Behavior
		profile             sandbox.Name
	}{
		{"off", "make", "", Sandbox{}, Default, Ask, sandbox.Open},
		{"off, and asked for", "make", free, Sandbox{}, Default, Ask, sandbox.Open},
		{"no rule", "make", "", on, Default, Allow, sandbox.Edit},
		{"no rule, in dontAsk", "make", "", on, DontAsk, Allow, sandbox.Edit},
		{"no rule, text that cannot be judged", "eval $x", "", on, Default, Allow, sandbox.Edit},
		{"no rule, while planning", "make", "", on, Plan, Ask, sandbox.Edit},
		{"not without a question", "make", "", asks, Default, Ask, sandbox.Edit},
		{"a rule", "git push", "", on, Default, Allow, sandbox.Edit},
		{"a rule that denies", "git push --force", "", on, Default, Deny, ""},
		{"a rule that asks", "git fetch", "", on, Default, Ask, sandbox.Edit},
		{"reading", "ls", "", on, Default, Allow, sandbox.Inspect},
		{"critical", "rm -rf /", "", on, Default, Ask, sandbox.Edit},
		{"excluded", "docker ps", "", on, Default, Ask, sandbox.Open},
		{"a part excluded", "make; docker ps", "", on, Default, Ask, sandbox.Open},
		{"a name that only starts like it", "dockerize", "", on, Default, Allow, sandbox.Edit},
		{"without", "make", free, on, Default, Ask, sandbox.Open},
		{"without, with a rule", "git push", free, on, Default, Ask, sandbox.Open},
		{"without, reading", "ls", free, on, Default, Ask, sandbox.Open},
		{"without, where that is off", "make", free, strict, Default, Allow, sandbox.Edit},
		{"without, no answer", "make", `,"dangerouslyDisableSandbox":"yes"`, on, Default, Ask, sandbox.Open},
		{"without, nobody to ask", "git push", free, on, DontAsk, Deny, ""},
		{"a file that others obey", "echo x >> CLAUDE.md", "", on, Default, Ask, sandbox.Edit},
		{"a file that others run, in a part", "make; cp x sub/package.json", "", on, AcceptEdits, Ask, sandbox.Edit},
		{"settings of agents", "mkdir -p .claude/agents", "", on, Default, Ask, sandbox.Edit},
		{"another file", "echo x >> notes.md", "", on, Default, Allow, sandbox.Edit},
		{"bypass", "make", "", on, Bypass, Allow, sandbox.Edit},
	} {
		p := Policy{
			Mode: c.mode, Dirs: []string{"/p"}, Home: "/h", Sandbox: c.by,
			Allow: rules(t, "Bash(git push:*)"), Deny: rules(t, "Bash(git push --force:*)"), Ask: rules(t, "Bash(git fetch:*)"),
		}
		command, err := json.Marshal(c.command)
		if err != nil {
			t.Fatal(err)
		}
		d := Decide(p, Request{Tool: "Bash", Input: json.RawMessage(`{"command":` + string(command) + c.more + `}`), Cwd: "/p"})
		if d.Behavior != c.want || d.Behavior != Deny && d.Profile != c.profile {
			t.Errorf("%s: %s under %q (%s), want %s under %q", c.name, d.Behavior, d.Profile, d.Reason, c.want, c.profile)
		}
	}
}
