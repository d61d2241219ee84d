package permission

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParseRule(t *testing.T) {
	for in, want := range map[string]Rule{
		"Bash": {Tool: "Bash"}, " Bash ( git diff:* ) ": {Tool: "Bash", Specifier: "git diff:*"}, "Bash(*)": {Tool: "Bash"}, "Bash()": {Tool: "Bash"}, "Task(x)": {Tool: "Agent", Specifier: "x"},
		"mcp__a__*": {Tool: "mcp__a__*"}, "*": {Tool: "*"}, "Bash(echo (a))": {Tool: "Bash", Specifier: "echo (a)"},
	} {
		got, err := ParseRule(in)
		if err != nil || got != want {
			t.Errorf("ParseRule(%q) = %+v, %v, want %+v", in, got, err, want)
		}
		if again, err := ParseRule(got.String()); err != nil || again != got {
			t.Errorf("%q does not survive String: %+v", in, again)
		}
	}
	for _, in := range []string{"", "(x)", "Bash(x", "Bash x", "Read, Write", "a)"} {
		if r, err := ParseRule(in); err == nil {
			t.Errorf("ParseRule(%q) = %+v, want an error", in, r)
		}
	}
}

func TestPathRules(t *testing.T) {
	for _, x := range []struct {
		rule, path string
		deny       bool // whether a deny rule matches
		allow      bool // whether an allow rule does
	}{
		{"Read(.env)", "/srv/proj/.env", true, true},
		{"Read(.env)", "/srv/proj/a/b/.env", true, true},
		{"Read(.env)", "/srv/proj/.env.local", false, false},
		{"Read(./.env)", "/srv/proj/.env", true, true},
		{"Read(./.env)", "/srv/proj/a/.env", false, false},
		{"Read(secrets)", "/srv/proj/secrets/key", true, true},
		{"Read(secrets/)", "/srv/proj/secrets/key", true, true},
		{"Read(secrets/**)", "/srv/proj/secrets/a/b", true, true},
		{"Read(secrets/**)", "/srv/proj/x/secrets/a", true, false},
		{"Read(secrets/**)", "/srv/proj/secrets2/a", false, false},
		{"Read(src/**/x.go)", "/srv/proj/src/x.go", true, true},
		{"Read(src/**/x.go)", "/srv/proj/src/a/b/x.go", true, true},
		{"Read(src/**/x.go)", "/srv/proj/src/a/y.go", false, false},
		{"Read(**/*.pem)", "/srv/proj/a/b.pem", true, true},
		{"Read(**/*.pem)", "/srv/proj/b.pem", true, true},
		{"Read(*.pem)", "/srv/proj/a/b.pem", true, true},
		{"Read(a/*.pem)", "/srv/proj/a/b.pem", true, true},
		{"Read(a/*.pem)", "/srv/proj/a/c/b.pem", false, false},
		{"Read(//etc/**)", "/etc/passwd", true, true},
		{"Read(//etc/**)", "/srv/proj/etc/passwd", false, false},
		{"Read(/etc/**)", "/srv/proj/etc/passwd", true, true},
		{"Read(/etc/**)", "/etc/passwd", false, false},
		{"Read(~/keys/**)", "/home/ann/keys/id", true, true},
		{"Read(~/keys)", "~/keys/id", true, true},
		{"Read(~/**)", "/home/anna/x", false, false},
		{"Read(../other/**)", "/srv/other/x", true, true},
		{"Read(src/[ab].go)", "/srv/proj/src/a.go", true, true},
		{"Read(src/[.go)", "/srv/proj/src/[.go", true, true},
		{"Read(src/**)", "src/../../etc/x", false, false},
		{"Read(secrets/**)", "src/../secrets/x", true, true},
		{"Read(secrets/**)", "secrets//x", true, true},
		{"Read(**)", "/srv/proj/x", true, true},
		{"Read(/**)", "/srv/proj/x", true, true},
		{"Read(//**)", "/any/where", true, true},
	} {
		p := policy(Bypass)
		p.Deny = rules(t, x.rule)
		want := map[bool]Behavior{true: Deny, false: Allow}
		check(t, p, tool("Read", "file_path", x.path), want[x.deny])
		p = Policy{Dirs: []string{"/srv/proj"}, Home: "/home/ann", Allow: rules(t, strings.Replace(x.rule, "Read", "Edit", 1))}
		want = map[bool]Behavior{true: Allow, false: Ask}
		check(t, p, tool("Write", "file_path", x.path, "content", ""), want[x.allow])
	}
}

func TestPathToolsAndRuleFamilies(t *testing.T) {
	for _, x := range []struct {
		list, rule string
		r          Request
		want       Behavior
	}{
		{"", "", tool("Read", "file_path", "a.go"), Allow},
		{"", "", tool("Read", "file_path", "../a.go"), Ask},
		{"", "", tool("Read", "file_path", "/srv/proj-evil/a"), Ask},
		{"", "", tool("Read", "file_path", "~/a"), Ask},
		{"", "", tool("Read"), Deny},
		{"", "", tool("Glob", "pattern", "**/*.go"), Allow},
		{"", "", tool("Glob", "pattern", "/etc/*"), Ask},
		{"", "", tool("Glob", "pattern", "../*"), Ask},
		{"", "", tool("Glob", "pattern", "*/../../../etc/*"), Ask},
		{"", "", tool("Glob", "pattern", "~/*"), Ask},
		{"", "", tool("Glob", "pattern", `\.\./x*`), Ask},
		{"", "", tool("Glob", "pattern", "a/../../x"), Ask},
		{"", "", tool("Glob", "pattern", "../../x", "path", "a"), Ask},
		{"", "", tool("Glob", "pattern", "../x", "path", "a"), Allow},
		{"", "", tool("Grep", "pattern", "x"), Allow},
		{"", "", tool("Grep", "pattern", "x", "path", "/etc"), Ask},
		{"", "", tool("Edit", "file_path", "a.go"), Ask},
		{"", "", tool("NotebookEdit", "notebook_path", "a.ipynb"), Ask},
		{"allow", "Edit(src/**)", tool("Edit", "file_path", "src/a"), Allow},
		{"allow", "Edit(src/**)", tool("NotebookEdit", "notebook_path", "src/a"), Allow},
		{"allow", "Edit(src/**)", tool("Write", "file_path", "src/a"), Allow},
		{"allow", "Edit(src/**)", tool("Write", "file_path", "src/../a"), Ask},
		{"allow", "Edit(//tmp/**)", tool("Read", "file_path", "/tmp/a"), Allow},
		{"allow", "Read(//tmp/**)", tool("Write", "file_path", "/tmp/a"), Ask},
		{"allow", "Read", tool("Grep", "path", "/etc", "pattern", "x"), Allow},
		{"allow", "Edit", tool("Write", "file_path", "/etc/x"), Allow},
		{"allow", "Edit", tool("Write", "file_path", ".git/config"), Ask},
		{"allow", "Edit", tool("Write", "file_path", ".claude/settings.json"), Ask},
		{"allow", "Edit", tool("Write", "file_path", ".claude/worktrees/a/x.go"), Allow},
		{"allow", "Edit", tool("Write", "file_path", ".claude/worktrees/a/.git/x"), Ask},
		{"allow", "Edit", tool("Write", "file_path", "sub/.BASHRC"), Ask},
		{"allow", "Edit", tool("Write", "file_path", ".config/git/config"), Ask},
		{"deny", "Read(.env)", tool("Edit", "file_path", ".env"), Deny},
		{"deny", "Read(.env)", tool("Grep", "pattern", "x", "path", ".env"), Deny},
		{"deny", "Edit(.env)", tool("Write", "file_path", ".env"), Deny},
		{"deny", "Edit(.env)", tool("Read", "file_path", ".env"), Allow},
		{"deny", "Write(.env)", tool("Write", "file_path", ".env"), Deny},
		{"deny", "Write(.env)", tool("Edit", "file_path", ".env"), Ask},
		{"deny", "Edit", tool("Write", "file_path", "a"), Deny},
		{"deny", "Write", tool("Edit", "file_path", "a"), Ask},
		{"deny", "Read", tool("Glob", "pattern", "*"), Deny},
		{"ask", "Read(.env)", tool("Read", "file_path", ".env"), Ask},
		{"ask", "Bash(git push:*)", bash("ls; git push"), Ask},
		{"deny", "Read(.env)", bash("cat *"), Ask},
	} {
		p := policy(Default)
		if x.rule != "" {
			list := map[string]*[]Rule{"allow": &p.Allow, "ask": &p.Ask, "deny": &p.Deny}[x.list]
			*list = rules(t, x.rule)
		}
		d := Decide(p, x.r)
		if d.Behavior != x.want {
			t.Errorf("%s %s, %s %s: %+v, want %s", x.list, x.rule, x.r.Tool, x.r.Input, d, x.want)
		}
	}
}

func TestOtherToolsAndRules(t *testing.T) {
	for _, x := range []struct {
		list, rule string
		r          Request
		want       Behavior
	}{
		{"", "", tool("Agent", "subagent_type", "Explore"), Allow},
		{"", "", tool("SendMessage", "to", "bob"), Allow},
		{"", "", tool("mcp__git__log"), Ask},
		{"", "", Request{Tool: "mcp__git__log", ReadOnly: true}, Allow},
		{"", "", Request{Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`), ReadOnly: true, Cwd: "/srv/proj"}, Ask},
		{"", "", Request{Tool: "Write", Input: json.RawMessage(`{"file_path":"a"}`), ReadOnly: true, Cwd: "/srv/proj"}, Ask},
		{"", "", tool("WebFetch", "url", "https://a.b/"), Ask},
		{"", "", tool("AskUserQuestion"), Ask},
		{"deny", "Agent(Explore)", tool("Agent", "subagent_type", "explore"), Deny},
		{"deny", "Task(Explore)", tool("Task", "subagent_type", "Explore"), Deny},
		{"deny", "Agent(code-reviewer)", tool("Agent", "subagent_type", "Code_Reviewer"), Deny},
		{"deny", "Agent(general-purpose)", tool("Agent", "prompt", "x"), Deny},
		{"deny", "Agent(Explore)", tool("Agent", "subagent_type", "Plan"), Allow},
		{"deny", "Agent", tool("Task", "subagent_type", "Plan"), Deny},
		{"deny", "Agent(model:opus)", tool("Agent", "model", "opus"), Deny},
		{"deny", "Agent(model:opus)", tool("Agent", "model", "sonnet"), Allow},
		{"deny", "Agent(isolation:*)", tool("Agent", "isolation", "worktree"), Deny},
		{"deny", "Agent(isolation:*)", tool("Agent"), Allow},
		{"deny", "Bash(run_in_background:true)", Request{Tool: "Bash", Input: json.RawMessage(`{"command":"ls","run_in_background":true}`), Cwd: "/srv/proj"}, Deny},
		{"deny", "Bash(run_in_background:true)", bash("ls"), Allow},
		{"allow", "Agent(model:opus)", tool("mcp__a__b", "model", "opus"), Ask},
		{"deny", "SendMessage(bob)", tool("SendMessage", "to", "bob"), Deny},
		{"deny", "SendMessage(b*)", tool("SendMessage", "to", "bob"), Deny},
		{"deny", "SendMessage(bob)", tool("SendMessage", "to", "al"), Allow},
		{"deny", "*", tool("Read", "file_path", "a"), Deny},
		{"deny", "mcp__*", tool("mcp__a__b"), Deny},
		{"deny", "mcp__git", tool("mcp__git__log"), Deny},
		{"deny", "mcp__git", tool("mcp__github__log"), Ask},
		{"deny", "mcp__git__*", tool("mcp__git__log"), Deny},
		{"allow", "mcp__git", tool("mcp__git__log"), Allow},
		{"allow", "mcp__git__*", tool("mcp__git__log"), Allow},
		{"allow", "mcp__git__l*", tool("mcp__git__log"), Allow},
		{"allow", "mcp__git__log", tool("mcp__git__log"), Allow},
		{"allow", "mcp__git__log", tool("mcp__git__logs"), Ask},
		{"allow", "*", tool("mcp__git__log"), Ask},
		{"allow", "mcp__*", tool("mcp__git__log"), Ask},
		{"allow", "mcp__*__log", tool("mcp__git__log"), Ask},
		{"allow", "B*", bash("make"), Ask},
		{"allow", "WebFetch(domain:a.b)", tool("WebFetch", "url", "https://A.b./x"), Allow},
		{"allow", "WebFetch(domain:a.b)", tool("WebFetch", "url", "https://a.b.evil/"), Ask},
		{"allow", "WebFetch(domain:a.b)", tool("WebFetch", "url", "https://a.b@evil/"), Ask},
		{"allow", "WebFetch(domain:a.b)", tool("WebFetch", "url", "https://u:p@a.b/"), Ask},
		{"allow", "WebFetch(domain:a.b)", tool("WebFetch", "url", `https://evil\@a.b/`), Ask},
		{"allow", "WebFetch(domain:a.b)", tool("WebFetch", "url", "https://x.a.b/"), Ask},
		{"allow", "WebFetch(domain:*.a.b)", tool("WebFetch", "url", "https://x.a.b/"), Allow},
		{"allow", "WebFetch(domain:*.a.b)", tool("WebFetch", "url", "https://a.b/"), Ask},
		{"allow", "WebFetch(domain:*.a.b)", tool("WebFetch", "url", "https://xa.b/"), Ask},
		{"allow", "WebFetch(domain:*)", tool("WebFetch", "url", "https://x/"), Allow},
		{"allow", "WebFetch(domain:api.*.io)", tool("WebFetch", "url", "https://api.x.io/"), Allow},
		{"allow", "WebFetch(domain:api.*.io)", tool("WebFetch", "url", "https://api.x.y.io/"), Ask},
		{"deny", "WebFetch(domain:a.b)", tool("WebFetch", "url", "https://u@a.b/"), Deny},
		{"deny", "WebFetch(domain:a.b)", tool("WebFetch", "url", "::"), Deny},
		{"allow", "Skill(commit)", tool("Skill", "skill", "commit"), Allow},
		{"allow", "Skill(commit)", tool("Skill", "skill", "commit", "args", "x"), Ask},
		{"allow", "Skill(commit *)", tool("Skill", "skill", "commit", "args", "x"), Allow},
		{"deny", "Skill(commit)", tool("Skill", "skill", "commit", "args", "x"), Deny},
		{"allow", "Bash(make)", tool("Monitor", "command", "make"), Allow},
		{"deny", "Bash(make)", tool("Monitor", "command", "make"), Deny},
	} {
		p := policy(Default)
		if x.rule != "" {
			list := map[string]*[]Rule{"allow": &p.Allow, "ask": &p.Ask, "deny": &p.Deny}[x.list]
			*list = rules(t, x.rule)
		}
		d := Decide(p, x.r)
		if d.Behavior != x.want {
			t.Errorf("%s %s, %s %s: %+v, want %s", x.list, x.rule, x.r.Tool, x.r.Input, d, x.want)
		}
	}
}

func TestAmbiguousInputIsDenied(t *testing.T) {
	for _, in := range []string{
		`{"file_path":"a","file_path":"/etc/x"}`, `{"file_path":"a","FILE_PATH":"/etc/x"}`, `[]`, `"a"`, `{`, `{"file_path":"a"} {}`, `{"file_path":"a"}x`, `{"file_path":"a\u0000b"}`, `{"file_path":1}`, `{"a":`, `null`,
	} {
		p := policy(Bypass)
		if d := Decide(p, Request{Tool: "Read", Input: json.RawMessage(in), Cwd: "/srv/proj"}); d.Behavior != Deny {
			t.Errorf("%s: %+v, want deny", in, d)
		}
	}
	check(t, policy(Default), Request{Tool: "Read", Input: json.RawMessage(`{"File_Path":"/etc/x"}`), Cwd: "/srv/proj"}, Ask)
}
