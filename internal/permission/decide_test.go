package permission

import (
	"encoding/json"
	"strings"
	"testing"
)

// rules parses rules of a test, which are right.
func rules(tb testing.TB, specs ...string) []Rule {
	tb.Helper()
	var out []Rule
	for _, s := range specs {
		r, err := ParseRule(s)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// bash is a request to run a command in /srv/proj.
func bash(command string) Request {
	in, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err)
	}
	return Request{Tool: "Bash", Input: in, Cwd: "/srv/proj"}
}

// tool is a request with fields given as pairs.
func tool(name string, pairs ...string) Request {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	in, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return Request{Tool: name, Input: in, Cwd: "/srv/proj"}
}

// policy is a project in /srv/proj of somebody at home in /home/ann.
func policy(m Mode) Policy {
	return Policy{Mode: m, Dirs: []string{"/srv/proj"}, Home: "/home/ann", Contained: true}
}

func check(t *testing.T, p Policy, r Request, want Behavior) {
	t.Helper()
	if d := Decide(p, r); d.Behavior != want {
		t.Errorf("mode %s, %s %s: %s by %q (%s), want %s", p.Mode, r.Tool, r.Input, d.Behavior, d.Rule, d.Reason, want)
	}
}

func TestReadOnlyCommandsNeedNoRule(t *testing.T) {
	for _, c := range []string{
		"ls", "ls -la", "cat a.go | head -20", "grep -rn foo .", "grep '/foo/' a.go", "git status", "git log --oneline -5", "git diff HEAD~1 -- a.go",
		"find . -name '*.go'", "sed -n '1,20p' a.go", "cd sub && ls", "wc -l *.go", "echo hi", "ls 2>/dev/null", "cat a > /dev/null 2>&1",
		"timeout 5 ls", "LANG=C ls", "for f in a b; do cat x; done", "pwd; ls; whoami", "test -f a && cat a", "[ -f a ]", "cat <<EOF\nhi\nEOF",
		"git -C sub status", "rg -n foo src", "echo $(git rev-parse HEAD) | cat",
	} {
		check(t, policy(Default), bash(c), Allow)
		check(t, policy(Plan), bash(c), Allow)
		check(t, policy(DontAsk), bash(c), Allow)
	}
}

// The reason names a command as a part only if there are others.
func TestTheReasonNamesPartsOfSeveral(t *testing.T) {
	for command, want := range map[string]string{"mkdir x": "no rule allows mkdir x", "ls; mkdir x": "no rule allows the part mkdir x"} {
		if d := Decide(policy(Default), bash(command)); d.Reason != want {
			t.Errorf("%s: %s", command, d.Reason)
		}
	}
}

// TestPrivateFilesAreOutOfReach, in every mode and whatever a rule allows, also by another name.
func TestPrivateFilesAreOutOfReach(t *testing.T) {
	for _, mode := range []Mode{Default, AcceptEdits, Plan, Auto, DontAsk, Bypass} {
		p := policy(mode)
		p.Allow = rules(t, "Read", "Edit")
		p.Private = func(path string) bool { return strings.HasPrefix(path, "/srv/proj/.state/") }
		p.Resolve = func(path string) string {
			if path == "/srv/proj/link" {
				return "/srv/proj/.state/x"
			}
			return path
		}
		for _, path := range []string{".state/x", "/srv/proj/.state/a/b", "link"} {
			for tool, input := range map[string]string{"Read": `{"file_path": "` + path + `"}`, "Grep": `{"pattern": "x", "path": "` + path + `"}`, "Write": `{"file_path": "` + path + `", "content": "x"}`} {
				if d := Decide(p, Request{Tool: tool, Input: []byte(input), Cwd: "/srv/proj"}); d.Behavior != Deny || d.Rule != "private" {
					t.Errorf("%s of %s in %s: %+v", tool, path, mode, d)
				}
			}
		}
		if d := Decide(p, Request{Tool: "Read", Input: []byte(`{"file_path": "y"}`), Cwd: "/srv/proj"}); d.Behavior != Allow && !mode.plans() {
			t.Errorf("another file in %s: %+v", mode, d)
		}
	}
}
