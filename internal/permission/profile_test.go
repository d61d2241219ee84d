package permission

import (
	"testing"

	"github.com/actorswarm/swarm/internal/sandbox"
)

// TestOnlyReadingIsHeldToInspect: a rule, a mode or a person lets a command do more.
func TestOnlyReadingIsHeldToInspect(t *testing.T) {
	for _, c := range []struct {
		mode    Mode
		allow   string
		command string
		want    sandbox.Name
	}{
		{Default, "", "ls", sandbox.Inspect},
		{Default, "", "cat a | grep x && git status", sandbox.Inspect},
		{Plan, "", "ls", sandbox.Inspect},
		{AcceptEdits, "", "ls", sandbox.Inspect},
		{DontAsk, "", "ls", sandbox.Inspect},
		{Default, "Bash(ls)", "ls", sandbox.Open},
		{Default, "Bash(ls)", "ls; pwd", sandbox.Inspect},
		{Default, "Bash", "ls; pwd", sandbox.Open},
		{Default, "Bash(git log:*)", "git log --oneline", sandbox.Open},
		{Default, "Bash(make)", "make", sandbox.Open},
		{Default, "", "make", sandbox.Open},
		{AcceptEdits, "", "touch a", sandbox.Open},
		{Bypass, "", "ls", sandbox.Open},
	} {
		p := policy(c.mode)
		if c.allow != "" {
			p.Allow = rules(t, c.allow)
		}
		if d := Decide(p, bash(c.command)); d.Profile != c.want {
			t.Errorf("mode %s, allowed %q: %q runs under %q by %q, want %q", c.mode, c.allow, c.command, d.Profile, d.Rule, c.want)
		}
	}
	if d := Decide(policy(Default), tool("Read", "file_path", "/srv/proj/a")); d.Profile != "" {
		t.Errorf("a tool that runs nothing has the profile %q", d.Profile)
	}
}

// TestUnconfinedReadingIsFixedText: where nothing holds a command to reading, a word that
// the shell computes makes it one to ask about.
func TestUnconfinedReadingIsFixedText(t *testing.T) {
	for command, want := range map[string]Behavior{
		"ls": Allow, "cat a b | head -3": Allow, "LANG=C ls": Allow,
		"echo $HOME": Ask, "ls *.go": Ask, `echo "$PWD"`: Ask, "ls a*": Ask,
	} {
		p := policy(Default)
		check(t, p, bash(command), Allow)
		p.Unconfined = true
		check(t, p, bash(command), want)
	}
}
