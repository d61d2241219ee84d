package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEditorCommandsAreSplitWithoutAShell(t *testing.T) {
	for text, want := range map[string][]string{
		"vi":                        {"vi"},
		"  code   --wait ":          {"code", "--wait"},
		`"/opt/my editor" -x 'a b'`: {"/opt/my editor", "-x", "a b"},
		`a\ b "c\"d" '\' ""`:        {"a b", `c"d`, `\`, ""},
		"x; rm -rf $HOME":           {"x;", "rm", "-rf", "$HOME"},
		"":                          nil,
	} {
		got, err := splitWords(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v %s", text, err, diff)
		}
	}
	for _, text := range []string{`"a`, "'a", `a\`} {
		if got, err := splitWords(text); err == nil {
			t.Errorf("%q gives %q", text, got)
		}
	}
}

// pane is a real terminal, kept by tmux.
type pane struct {
	*lab
	socket string
}

// newPane runs swarm in a terminal of its own.
func newPane(l *lab, args string) *pane {
	l.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		l.Skip("no tmux")
	}
	swarm, err := exec.LookPath("swarm")
	if err != nil {
		l.Fatal(err)
	}
	p := &pane{l, filepath.Join(l.dir, "tmux")}
	p.env = slices.DeleteFunc(p.env, func(v string) bool {
		return strings.HasPrefix(v, "TMUX") || strings.HasPrefix(v, "TERM=") || strings.HasPrefix(v, "NO_COLOR=")
	})
	// The shell stays after the program, so that its last words can be read.
	p.tmux("new-session", "-d", "-x", "100", "-y", "40", "sh", "-c", swarm+" "+args+"; echo ended with $?; exec cat")
	l.Cleanup(func() { p.tmux("kill-server") })
	return p
}

func (p *pane) tmux(args ...string) string {
	p.Helper()
	cmd := exec.Command("tmux", append([]string{"-f", "/dev/null", "-S", p.socket}, args...)...)
	cmd.Dir, cmd.Env = p.dir, append(p.env, "TERM=xterm-256color")
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// see returns when the screen shows a text, and fails if it never does.
func (p *pane) see(text string) string {
	p.Helper()
	screen := ""
	for limit := time.Now().Add(20 * time.Second); time.Now().Before(limit); {
		if screen = p.tmux("capture-pane", "-p"); strings.Contains(screen, text) {
			return screen
		}
	}
	p.Fatalf("the terminal does not show %q:\n%s", text, screen)
	return ""
}

func (p *pane) enter(text string)    { p.Helper(); p.tmux("send-keys", "-l", text) }
func (p *pane) press(keys ...string) { p.Helper(); p.tmux(append([]string{"send-keys"}, keys...)...) }

func TestTheWizardWritesADefinitionInSevenSteps(t *testing.T) {
	l := newLab(t, map[string]string{
		".git/HEAD":               "",
		".claude/agents/taken.md": "---\nname: taken\ndescription: d\n---\n",
	})
	p := newPane(l, "agents new")

	p.see("1/7 Name")
	p.enter("a:b")
	p.press("Enter")
	p.see("reserved for plugins") // the mistake is told on its page
	p.press("BSpace", "BSpace", "BSpace")
	p.enter("reviewer")
	p.press("Enter")
	p.see("2/7 Description")
	p.press("Enter")
	p.see("has no description")
	p.enter("Use it: after each change")
	p.press("Enter")
	p.see("3/7 System prompt")
	p.enter("You review.")
	p.press("Enter")
	p.see("4/7 Tools")
	p.press("Space", "Down", "Space", "Enter") // not all, but the first one
	p.see("5/7 Model")
	p.press("Down", "Enter")
	p.see("6/7 Color")
	p.press("Down", "Enter")
	p.see("7/7 Location")
	p.press("Enter")
	p.see("ended with 0")

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
	old := "---\nname: taken\ndescription: d\n---\n"
	l := newLab(t, map[string]string{".git/HEAD": "", ".claude/agents/taken.md": old})
	p := newPane(l, "agents new --name taken --prompt p")
	p.see("1/7 Name")
	p.press("Enter")
	p.see("2/7 Description")
	p.enter("other")
	p.press("Enter")
	for _, page := range []string{"3/7", "4/7", "5/7", "6/7", "7/7"} {
		p.see(page)
		p.press("Enter")
	}
	p.see("already defined")
	p.press("C-c")
	p.see("nothing was written")
	p.see("ended with 130")
	if raw, err := os.ReadFile(filepath.Join(l.dir, ".claude", "agents", "taken.md")); err != nil || string(raw) != old {
		t.Errorf("the file holds %q, %v", raw, err)
	}
}

func TestTheWizardWritesNothingWhenItIsTerminated(t *testing.T) {
	l := newLab(t, map[string]string{".git/HEAD": ""})
	p := newPane(l, "agents new --description d")
	p.see("1/7 Name")
	p.enter("half")
	p.see("half")
	shell := strings.TrimSpace(p.tmux("display-message", "-p", "#{pane_pid}"))
	children, err := os.ReadFile(filepath.Join("/proc", shell, "task", shell, "children"))
	if err != nil {
		t.Skipf("the process cannot be found: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(children)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.see("nothing was written")
	p.see("ended with 143")
	if _, err := os.Stat(filepath.Join(l.dir, ".claude")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was written: %v", err)
	}
}

func TestWithoutScreenControlTheWizardAsksLineByLine(t *testing.T) {
	l := newLab(t, map[string]string{".git/HEAD": ""})
	l.env = append(l.env, "ACCESSIBLE=1")
	p := newPane(l, "agents new")
	for _, step := range [][2]string{
		{"1/7 Name", "plain"},
		{"2/7 Description", "Use it."},
		{"3/7 System prompt", "You are plain."},
		{"4/7 Tools", "0"},
		{"5/7 Model", "1"},
		{"6/7 Color", "1"},
		{"7/7 Location", "1"},
	} {
		p.see(step[0])
		p.enter(step[1])
		p.press("Enter")
	}
	p.see("ended with 0")
	raw, err := os.ReadFile(filepath.Join(l.dir, ".claude", "agents", "plain.md"))
	if want := "---\nname: plain\ndescription: Use it.\n---\n\nYou are plain.\n"; err != nil || string(raw) != want {
		t.Errorf("the file holds %q, %v; want %q", raw, err, want)
	}
}

func TestRemovalAsksOnATerminal(t *testing.T) {
	l := newLab(t, map[string]string{".git/HEAD": "", ".claude/agents/x.md": "---\nname: x\ndescription: d\n---\n"})
	path := filepath.Join(l.dir, ".claude", "agents", "x.md")
	p := newPane(l, "agents rm x")
	p.see("remove x (.claude/agents/x.md)? [y/N]")
	p.press("Enter")
	p.see("nothing was removed")
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	p.tmux("respawn-pane", "-k", "swarm agents rm x; exec cat")
	p.see("[y/N]")
	p.enter("y")
	p.press("Enter")
	p.see("removed ")
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
}
