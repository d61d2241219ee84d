package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheWizardWritesADefinitionInSevenSteps(t *testing.T) {
	t.Parallel()
	l := newLab(t, map[string]string{
		".git/HEAD":               "",
		".claude/agents/taken.md": "---\nname: taken\ndescription: d\n---\n",
	})
	p := openWindow(l, 100, 40, "swarm agents new")

	p.until("1/7 Name")
	p.writes("a:b")
	p.keys("Enter")
	p.until("reserved for plugins") // the mistake is shown on its page
	p.keys("BSpace", "BSpace", "BSpace")
	p.writes("reviewer")
	p.keys("Enter")
	p.until("2/7 Description")
	p.keys("Enter")
	p.until("has no description")
	p.writes("Use it: after each change")
	p.keys("Enter")
	p.until("3/7 System prompt")
	p.writes("You review.")
	p.keys("Enter")
	p.until("4/7 Tools")
	p.keys("Space", "Down", "Space", "Enter") // not all, but the first one
	p.until("5/7 Model")
	p.keys("Down", "Enter")
	p.until("6/7 Color")
	p.keys("Down", "Enter")
	p.until("7/7 Location")
	p.keys("Enter")
	p.until("exit=0")

	raw, err := os.ReadFile(filepath.Join(l.dir, ".claude", "agents", "reviewer.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := "---\nname: reviewer\ndescription: \"Use it: after each change\"\ntools: Read\nmodel: sonnet\ncolor: red\n---\n\nYou review.\n"
	if diff := cmp.Diff(want, string(raw)); diff != "" {
		t.Error(diff)
	}
}

func TestTheWizardOverwritesNothingAndCanBeLeft(t *testing.T) {
	t.Parallel()
	old := "---\nname: taken\ndescription: d\n---\n"
	l := newLab(t, map[string]string{".git/HEAD": "", ".claude/agents/taken.md": old})
	p := openWindow(l, 100, 40, "swarm agents new --name taken --prompt p")
	p.until("1/7 Name")
	p.keys("Enter")
	p.until("2/7 Description")
	p.writes("other")
	p.keys("Enter")
	for _, page := range []string{"3/7", "4/7", "5/7", "6/7", "7/7"} {
		p.until(page)
		p.keys("Enter")
	}
	p.until("already defined")
	p.keys("C-c")
	p.until("nothing was written")
	p.until("exit=130")
	if raw, err := os.ReadFile(filepath.Join(l.dir, ".claude", "agents", "taken.md")); err != nil || string(raw) != old {
		t.Errorf("the file holds %q, %v", raw, err)
	}
}

func TestTheWizardWritesNothingWhenItIsTerminated(t *testing.T) {
	l := newLab(t, map[string]string{".git/HEAD": ""})
	p := openWindow(l, 100, 40, "swarm agents new --description d")
	p.until("1/7 Name")
	p.writes("half")
	p.until("half")
	shell := strings.TrimSpace(p.tmux("display-message", "-p", "#{pane_pid}"))
	children, err := os.ReadFile(filepath.Join("/proc", shell, "task", shell, "children"))
	if err != nil {
		t.Skipf("the process of the form cannot be found in the list of processes: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(children)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.until("nothing was written")
	p.until("exit=143")
	if _, err := os.Stat(filepath.Join(l.dir, ".claude")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was written: %v", err)
	}
}

func TestWithoutScreenControlTheWizardAsksLineByLine(t *testing.T) {
	t.Parallel()
	l := newLab(t, map[string]string{".git/HEAD": ""})
	l.env = append(l.env, "ACCESSIBLE=1")
	p := openWindow(l, 100, 40, "swarm agents new")
	for _, step := range [][2]string{
		{"1/7 Name", "plain"},
		{"2/7 Description", "Use it."},
		{"3/7 System prompt", "You are plain."},
		{"4/7 Tools", "0"},
		{"5/7 Model", "1"},
		{"6/7 Color", "1"},
		{"7/7 Location", "1"},
	} {
		p.until(step[0])
		p.types(step[1])
	}
	p.until("exit=0")
	raw, err := os.ReadFile(filepath.Join(l.dir, ".claude", "agents", "plain.md"))
	if want := "---\nname: plain\ndescription: Use it.\n---\n\nYou are plain.\n"; err != nil || string(raw) != want {
		t.Errorf("the file holds %q, %v; want %q", raw, err, want)
	}
}

func TestRemovalAsksOnATerminal(t *testing.T) {
	l := newLab(t, map[string]string{".git/HEAD": "", ".claude/agents/x.md": "---\nname: x\ndescription: d\n---\n"})
	path := filepath.Join(l.dir, ".claude", "agents", "x.md")
	p := openWindow(l, 100, 40, "swarm agents rm x")
	p.until("remove x (.claude/agents/x.md)? [y/N]")
	p.keys("Enter")
	p.until("nothing was removed")
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	p.tmux("respawn-pane", "-k", "swarm agents rm x; exec cat")
	p.until("[y/N]")
	p.writes("y")
	p.keys("Enter")
	p.until("removed ")
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}
