package permission

import (
	"strings"
	"testing"
)

func TestPathsThatMatchNothingAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		`Read("x")`: "without quotes", "Read(!x)": "excepts nothing", "Edit($HOME/x)": "write ~/", "Read(/etc/passwd)": "write //etc/passwd for the root",
		"Read(/src/x)": "", "Read(//etc/passwd)": "", "Read(./etc/x)": "", "Edit(~/x)": "",
	} {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Flaw(Deny, []string{"Read", "Edit"}); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestRulesForCommandsThatMatchNothingAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"Bash(rm:*, ls:*)": ":* has its meaning at the end only", "Bash(/^git/)": "no regular expression", "Bash(^git)": "no regular expression",
		"Bash(git push:)": "write Bash(git push:*)", "Bash(git push: *)": "write Bash(git push:*)", "Bash(git:)": "write Bash(git:*)",
		"Bash({rm,mv}:*)": "braces stand for themselves", "Bash(git {push,pull})": "braces", "Bash(git:push)": "no parameter git; write Bash(git push)",
		"bash(rm:*)": "did you mean Bash?", "Bsh(rm:*)": "did you mean Bash?", "Foo(rm)": "there is no tool Foo", "webfetch(domain:x)": "did you mean WebFetch?",
		"Read(./a),Edit(./b)": "several rules", "Bash(rm:*), Bash(ls:*)": "several rules",
		"Monitor(rm:*, ls:*)": "at the end only",
		"Bash(rm:*)":          "", "Bash(/bin/rm *)": "", "Bash(git push *)": "", "Bash(git show stash@{0})": "", "Bash(npm run test:unit)": "",
		"Bash(npm run test:*)": "", "Bash(run_in_background:true)": "", "Bash(*)": "", "Bash(* --force)": "", "Bash(dangerouslyDisableSandbox:true)": "",
	} {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range []Behavior{Deny, Ask} {
			if got := r.Flaw(list, []string{"Bash", "Read"}); !strings.Contains(got, want) || want == "" && got != "" {
				t.Errorf("%s: %q, want %q", text, got, want)
			}
		}
	}
}

// TestRulesOfAnswersHaveNoFlaw: what an answer adds is the text of a command.
func TestRulesOfAnswersHaveNoFlaw(t *testing.T) {
	for _, command := range []string{"mkdir -p src/{a,b}", "echo a:", "make x:y", "curl http://a:", "grep x:y z"} {
		for _, text := range Suggest(policy(Default), bash(command)) {
			if r, err := ParseRule(text); err != nil || r.Flaw(Allow, []string{"Bash"}) != "" {
				t.Errorf("%s: %s, %v", text, r.Flaw(Allow, []string{"Bash"}), err)
			}
		}
	}
}

func TestTheWayOutHelps(t *testing.T) {
	for _, x := range []struct {
		mode    Mode
		command string
		want    string
	}{
		{Default, "touch x", "allow it with --allowedTools"},
		{Plan, "touch x", "no --allowedTools counts in mode plan; use another --permission-mode"},
		{Default, "rm -rf /", "use --permission-prompts wait"},
		{Default, "ask-me", "take it out, or use --permission-prompts wait"},
	} {
		p := policy(x.mode)
		p.Ask = rules(t, "Bash(ask-me)")
		p.Ask[0].Source = "a file"
		if d := Decide(p, bash(x.command)); d.Behavior != Ask || !strings.HasPrefix(strings.TrimPrefix(d.WayOut(), "no --allowedTools goes before that rule; "), x.want) {
			t.Errorf("%s in %s: %+v: %s", x.command, x.mode, d, d.WayOut())
		}
	}
}

func TestReadingOutsideIsNamed(t *testing.T) {
	for mode, want := range map[Mode]string{
		Default: "no rule allows this use of Read: /etc/passwd is outside the working directories",
		Plan:    "only reading is free while planning and only in the working directories: /etc/passwd is outside the working directories",
	} {
		p := policy(mode)
		if d := Decide(p, Request{Tool: "Read", Input: []byte(`{"file_path": "/etc/passwd"}`), Cwd: "/srv/proj"}); d.Reason != want {
			t.Errorf("%s: %s", mode, d.Reason)
		}
	}
	p := policy(Default)
	p.Resolve = func(path string) string {
		if path == "/srv/proj/x" {
			return "/etc/x"
		}
		return path
	}
	if d := Decide(p, Request{Tool: "Read", Input: []byte(`{"file_path": "x"}`), Cwd: "/srv/proj"}); d.Reason != "no rule allows this use of Read: /srv/proj/x leads to /etc/x, which is outside the working directories" {
		t.Error(d.Reason)
	}
}
