package permission

import (
	"encoding/json"
	"strings"
	"testing"
)

func decideLimited(entries []string, tool, input string) Decision {
	return Decide(Policy{Mode: Bypass, Dirs: []string{"/srv/proj"}, Home: "/home/ann", Only: [][]Rule{ParseLimits(entries, "reviewer.md")}},
		Request{Tool: tool, Input: json.RawMessage(input), Cwd: "/srv/proj"})
}

func TestLimitedToolsAreNeverWidened(t *testing.T) {
	for _, x := range []struct {
		entries, tool, input string
		want                 Behavior
	}{
		{"Bash(git diff:*)", "Bash", `{"command": "git diff HEAD"}`, Allow},
		{"Bash(git diff:*)", "Bash", `{"command": "git diff HEAD && git push"}`, Deny},
		{"Bash(git diff:*)", "Bash", `{"command": "git diff > /tmp/x"}`, Deny},
		{"Bash(git diff:*)", "Bash", `{"command": "git diff; ls"}`, Deny},
		{"Bash(git diff:*)", "Bash", `{"command": "git diff $(touch x)"}`, Deny},
		{"Bash(git diff:*)", "Bash", `{"command": "git diff 'x"}`, Deny},
		{"Bash(git diff:*)", "Bash", `{"command": "PATH=/tmp git diff"}`, Deny},
		{"Bash(git diff:*)", "Bash", `{"command": ""}`, Deny},
		{"Bash(git diff:*)", "Read", `{"file_path": "/etc/passwd"}`, Allow},
		{"Bash(git diff:*)|Bash(git log:*)", "Bash", `{"command": "git diff && git log -1"}`, Allow},
		{"Bash(git", "Bash", `{"command": "git diff"}`, Deny},
		{"Agent(b)", "Agent", `{"subagent_type": "b", "prompt": "x"}`, Allow},
		{"Agent(b)", "Agent", `{"subagent_type": "B", "prompt": "x"}`, Allow},
		{"Agent(b)", "Agent", `{"subagent_type": "c", "prompt": "x"}`, Deny},
		{"Agent(b)", "Agent", `{"prompt": "x"}`, Deny},
		{"Agent(b,c)", "Agent", `{"subagent_type": "c", "prompt": "x"}`, Allow},
		{"Task(b)", "Agent", `{"subagent_type": "c", "prompt": "x"}`, Deny},
		{"Read(src/**)", "Read", `{"file_path": "src/a.go"}`, Allow},
		{"Read(src/**)", "Read", `{"file_path": "src/../b.go"}`, Deny},
		{"Read(src/**)", "Grep", `{"pattern": "x"}`, Allow},
		{"Write(docs/**)", "Write", `{"file_path": "a.go", "content": ""}`, Deny},
		{"TaskStop(x)", "TaskStop", `{"task_id": "x"}`, Deny},
	} {
		if got := decideLimited(strings.Split(x.entries, "|"), x.tool, x.input); got.Behavior != x.want {
			t.Errorf("limited to %s, %s %s: %v by %s (%s), want %v", x.entries, x.tool, x.input, got.Behavior, got.Rule, got.Reason, x.want)
		}
	}
	got := decideLimited([]string{"Bash(git diff:*)"}, "Bash", `{"command": "ls"}`)
	if want := "Bash may be used only as Bash(git diff:*) (reviewer.md)"; got.Reason != want {
		t.Errorf("the reason is %q, want %q", got.Reason, want)
	}
}

// Each list limits by itself: a child of a limited agent is not freer than its parent.
func TestEveryLimitCounts(t *testing.T) {
	p := Policy{Mode: Bypass, Dirs: []string{"/srv/proj"}, Only: [][]Rule{
		ParseLimits([]string{"Bash(git:*)"}, "parent"), ParseLimits([]string{"Bash(git diff:*)", "Bash(ls)"}, "child"),
	}}
	for command, want := range map[string]Behavior{"git diff": Allow, "git push": Deny, "ls": Deny} {
		input, _ := json.Marshal(map[string]string{"command": command})
		if got := Decide(p, Request{Tool: "Bash", Cwd: "/srv/proj", Input: input}); got.Behavior != want {
			t.Errorf("%s: %v (%s), want %v", command, got.Behavior, got.Reason, want)
		}
	}
}

func TestFlawsOfRules(t *testing.T) {
	tools := []string{"Bash", "Read", "Agent", "TaskStop"}
	for _, x := range []struct {
		list Behavior
		rule string
		want string // a part of it
	}{
		{Deny, "Bash(git:*)", ""},
		{Deny, "Bahs(git:*)", "there is no tool Bahs"},
		{Deny, "Ba*", ""},
		{Deny, "X*", "there is no tool X*"},
		{Deny, "*", ""},
		{Allow, "*", "only the name of an MCP server"},
		{Allow, "mcp__a__*", ""},
		{Deny, "mcp__*", ""},
		{Deny, "Bash(command:rm *)", "command has rules of its own"},
		{Deny, "Read(file_path:/etc/*)", "file_path has rules of its own"},
		{Deny, "Agent(model:opus)", ""},
		{Deny, "TaskStop(task_id:1)", ""},
		{Deny, "TaskStop(all)", "write TaskStop or TaskStop(PARAMETER:VALUE)"},
		{Allow, "TaskStop(task_id:1)", "allows nothing"},
		{Ask, "WebFetch(example.com)", "WebFetch(domain:HOST)"},
		{Ask, "WebFetch(domain:example.com)", ""},
		{Allow, "Read(src/**)", ""},
	} {
		r, err := ParseRule(x.rule)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Flaw(x.list, tools); (got == "") != (x.want == "") || !strings.Contains(got, x.want) {
			t.Errorf("%v %s: %q, want %q", x.list, x.rule, got, x.want)
		}
	}
}

func TestCovers(t *testing.T) {
	for rule, want := range map[string]string{
		"Bash": "Bash", "Bash(*)": "Bash", "Bash(git:*)": "", "*": "Bash Read Grep Edit Write Agent", "Read": "Read Grep",
		"Edit": "Edit Write", "Task": "Agent", "*e*": "Read Grep Write Agent",
	} {
		r, err := ParseRule(rule)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, tool := range []string{"Bash", "Read", "Grep", "Edit", "Write", "Agent"} {
			if r.Covers(tool) {
				got = append(got, tool)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s covers %v, want %s", rule, got, want)
		}
	}
}

func TestConcealsWhatReadRulesDenyOrAskAbout(t *testing.T) {
	p := Policy{Dirs: []string{"/srv/proj"}, Home: "/home/ann", Resolve: func(path string) string {
		return strings.Replace(path, "/srv/proj/link", "/srv/secret", 1)
	}}
	if Conceals(p, "/srv/proj") != nil {
		t.Error("without rules there is something to conceal")
	}
	for _, text := range []string{"Read(.env)", "Read(//srv/secret/**)", "Read(/src/*.key)", "Bash(ls)", "Edit(a)"} {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		r.Base = "/srv/proj"
		p.Deny = append(p.Deny, r)
	}
	p.Ask = []Rule{{Tool: "Read", Specifier: "~/notes"}}
	conceals := Conceals(p, "/srv/proj")
	for path, want := range map[string]bool{
		"/srv/proj/.env": true, "/srv/proj/a/.env": true, "/srv/proj/a": false, "/srv/proj/link/x": true, "/srv/proj/src/a.key": true,
		"/srv/proj/a.key": false, "/home/ann/notes": true,
	} {
		if conceals(path) != want {
			t.Errorf("%s: concealed %v, want %v", path, !want, want)
		}
	}
}
