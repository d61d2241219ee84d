package permission

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSuggest(t *testing.T) {
	for _, x := range []struct {
		r    Request
		want []string
	}{
		{bash("git push origin main"), []string{"Bash(git push:*)"}},
		{bash("go test ./... && make lint"), []string{"Bash(go test:*)", "Bash(make lint)"}},
		{bash("touch made.txt"), []string{"Bash(touch made.txt)"}},
		{bash("timeout 10 go test ./..."), []string{"Bash(go test:*)"}},
		{bash("python3 x.py"), []string{"Bash(python3 x.py)"}},
		{bash("npm run deploy"), []string{"Bash(npm run deploy)"}}, // the script could be any
		{bash("go run ./x"), []string{"Bash(go run ./x)"}},
		{bash("git -c core.pager=x push"), []string{"Bash(git -c core.pager=x push)"}},
		{bash("ls | wc > n.txt"), []string{"Edit(//srv/proj/n.txt)", "Bash(wc)"}},
		{bash("rm *.tmp"), nil}, // the star would mean more in a rule
		{bash("rm -rf /"), nil},
		{bash("rm -rf ~"), nil},
		{bash("echo '"), nil},
		{bash(`sh -c "$X"`), nil},
		{bash("a 1; b 2; c 3; d 4; e 5; f 6"), nil},
		{tool("Write", "file_path", "src/a.go"), []string{"Edit(//srv/proj/src/a.go)"}},
		{tool("Write", "file_path", "/etc/x"), []string{"Edit(//etc/x)"}},
		{tool("Write", "file_path", "a*b/c"), nil},
		{tool("Write", "file_path", ".git/config"), nil},
		{tool("Read", "file_path", "/etc/hosts"), []string{"Read(//etc/hosts)"}},
		{tool("WebFetch", "url", "https://Go.dev/doc"), []string{"WebFetch(domain:go.dev)"}},
		{tool("mcp__a__b"), []string{"mcp__a__b"}},
		{tool("AskUserQuestion"), nil},
	} {
		if got := Suggest(policy(Default), x.r); !slices.Equal(got, x.want) {
			t.Errorf("%s %s: %q, want %q", x.r.Tool, x.r.Input, got, x.want)
		}
	}
	if got := Suggest(policy(Plan), bash("make")); got != nil {
		t.Errorf("in mode plan %q is offered, and allows nothing", got)
	}
}

func TestDescribeSaysWhatARuleAllows(t *testing.T) {
	for want, texts := range map[string][]string{
		"every change of /srv/proj/a.go; the command wc":   {"Edit(//srv/proj/a.go)", "Bash(wc)"},
		"every command that begins with git push":          {"Bash(git push:*)"},
		"every reading of /etc/hosts":                      {"Read(//etc/hosts)"},
		"every call of mcp__a__b; WebFetch(domain:go.dev)": {"mcp__a__b", "WebFetch(domain:go.dev)"},
	} {
		if got := Describe(texts); got != want {
			t.Errorf("%q is described as %q, want %q", texts, got, want)
		}
	}
}

// With what Suggest offers the call is allowed, a denied one never is, and a
// call that differs in more than the rule says is not.
func TestSuggestAllowsTheCall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, r := draw(t)
		p.Mode = rapid.SampledFrom(allModes()).Draw(t, "mode")
		texts := Suggest(p, r)
		if len(texts) == 0 {
			return
		}
		for _, text := range texts {
			rule, err := ParseRule(text)
			if err != nil || rule.bare() && effectOf(r.Tool) != otherEffect {
				t.Fatalf("%s %s: offered is %q (%v)", r.Tool, r.Input, text, err)
			}
			p.Allow = append(p.Allow, rule)
		}
		if d := Decide(p, r); d.Behavior != Allow {
			t.Fatalf("%s %s with %q: %+v", r.Tool, r.Input, texts, d)
		}
		if d := Decide(p, bash("rm -rf /")); d.Behavior == Allow {
			t.Fatalf("with %q a critical removal is allowed", texts)
		}
	})
}

func TestNoCommandAnswersQuestions(t *testing.T) {
	p := policy(Bypass)
	p.Allow = rules(t, "Bash")
	for _, cmd := range []string{
		"swarm approvals allow k3vq7x2m", "env -u SWARM_AGENT swarm approvals allow x", "/usr/bin/swarm approvals allow x",
		"ls && bash -c 'swarm approvals allow x'", `swarm "$V" allow x`, "x=$(swarm approvals allow x)", "swarm --dir . approvals deny x",
	} {
		if d := Decide(p, bash(cmd)); d.Behavior != Deny || d.Rule != "answer of an agent" {
			t.Errorf("%s: %+v", cmd, d)
		}
	}
	for _, cmd := range []string{"swarm ps", "echo approvals", `swarm send ben "$text"`} {
		if d := Decide(p, bash(cmd)); d.Behavior != Allow {
			t.Errorf("%s: %+v", cmd, d)
		}
	}
}
