package permission

import (
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/sandbox"
)

// TestUnaskedCommandsAreHeldToTheirEffect: what runs because it reads is held to inspect,
// what runs because acceptEdits is on to edit; a rule or a person lets a command do more.
func TestUnaskedCommandsAreHeldToTheirEffect(t *testing.T) {
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
		{AcceptEdits, "", "touch a", sandbox.Edit},
		{AcceptEdits, "", "mkdir -p d && cp a d/b; sed -i s/a/b/ d/b", sandbox.Edit},
		{AcceptEdits, "", "cat a > b", sandbox.Edit},
		{AcceptEdits, "", "cat a > b 2> /dev/null", sandbox.Edit},
		{AcceptEdits, "", "sed -i /a/d b; ls $HOME", sandbox.Edit}, // a script, not a file
		{AcceptEdits, "", "touch a; ls > /dev/null 2>&1", sandbox.Edit},
		{AcceptEdits, "Bash(touch:*)", "touch a", sandbox.Open},
		{AcceptEdits, "Bash(make)", "touch a; make", sandbox.Open},
		{AcceptEdits, "Edit(//srv/other/**)", "cat a > /srv/other/b", sandbox.Open},
		{AcceptEdits, "", "make", sandbox.Open},
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

// TestUnheldEditsAreAskedAbout: where nothing can hold a command to changing the working
// directories, acceptEdits allows none, and a mode that never asks denies it.
func TestUnheldEditsAreAskedAbout(t *testing.T) {
	p := policy(AcceptEdits)
	p.NoEdits = "it is made up"
	for command, want := range map[string]Behavior{"touch a": Ask, "cat a > b": Ask, "ls": Allow, "touch a; make": Ask} {
		p.Allow = rules(t, "Bash(make)")
		d := Decide(p, bash(command))
		if d.Behavior != want || want == Ask && !strings.Contains(d.Reason, "profile edit only: it is made up") {
			t.Errorf("%s: %v, %s", command, d.Behavior, d.Reason)
		}
	}
	p.Allow = rules(t, "Bash(touch:*)")
	if d := Decide(p, bash("touch a")); d.Behavior != Allow || d.Profile != sandbox.Open {
		t.Errorf("with a rule: %v under %s", d.Behavior, d.Profile)
	}
	if d := Decide(p, tool("Edit", "file_path", "/srv/proj/a")); d.Behavior != Allow {
		t.Errorf("the tool Edit: %v", d.Behavior)
	}
}

// TestDenialsAreThoseOfTheRules: commands that run unasked are denied what a person would
// be asked about, too.
func TestDenialsAreThoseOfTheRules(t *testing.T) {
	p := policy(Default)
	if Denials(p, "/srv/proj") != nil {
		t.Error("without rules there are denials")
	}
	p.Deny, p.Ask = rules(t, "Read(.env)", "Edit(lock/**)", "Bash(rm:*)", "WebFetch"), rules(t, "Read(notes)")
	denied := Denials(p, "/srv/proj")
	for path, want := range map[string][4]bool{
		"/srv/proj/.env": {true, true, true, true}, "/srv/proj/d/.env": {true, true, true, true}, "/srv/proj/lock/a": {false, true, false, true},
		"/srv/proj/notes": {true, true, false, false}, "/srv/proj/a": {},
	} {
		var got [4]bool
		got[0], got[1] = denied(path, true)
		if got[2], got[3] = denied(path, false); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}
