package main

import (
	"bytes"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"
)

const twoAgents = `rules:
  - when: {agent: lead, step: 0}
    say:
      calls:
        - {tool: Agent, input: {name: security, subagent_type: security, description: look, prompt: look at everything that could possibly go wrong in here}}
  - when: {agent: security}
    say: {text: fine}
  - say: {text: "all \u001b[2Jfine"}
`

const redAgent = "---\nname: security\ndescription: Looks.\ncolor: red\n---\nLook.\n"

func terminalLab(t *testing.T) *lab {
	return newLab(t, map[string]string{"s.yaml": twoAgents, ".claude/agents/security.md": redAgent})
}

// onTerminal runs swarm with a terminal of the given width.
func onTerminal(l *lab, columns uint16, env ...string) string {
	l.Helper()
	return commandOnTerminal(l, l.command("run", "--model", "script:s.yaml", "look"), columns, env...)
}

func commandOnTerminal(l *lab, cmd *exec.Cmd, columns uint16, env ...string) string {
	l.Helper()
	cmd.Env = append(cmd.Env, env...)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: columns})
	if err != nil {
		l.Fatal(err)
	}
	defer tty.Close()
	var b bytes.Buffer
	io.Copy(&b, tty) // a terminal ends with an error on some systems
	if err := cmd.Wait(); err != nil {
		l.Fatalf("%v:\n%s", err, b.String())
	}
	return strings.ReplaceAll(b.String(), "\r\n", "\n")
}

func TestOnATerminalNamesHaveTheirColourAndLinesTheWidth(t *testing.T) {
	out := onTerminal(terminalLab(t), 40)
	if !strings.Contains(out, "\x1b[31msecurity\x1b[0m  started · look at every") {
		t.Errorf("no red name in:\n%q", out)
	}
	for line := range strings.SplitSeq(out, "\n") {
		plain := strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "").Replace(line)
		if strings.HasPrefix(plain, "security") && widthOf(plain) > 40 {
			t.Errorf("%d columns: %q", widthOf(plain), plain)
		}
	}
	if strings.Contains(out, "\x1b[2J") {
		t.Error("the answer could clear the screen")
	}
}

func TestWithoutColourNothingIsPainted(t *testing.T) {
	for _, env := range []string{"NO_COLOR=1", "TERM=dumb"} {
		if out := onTerminal(terminalLab(t), 100, env); strings.Contains(out, "\x1b") {
			t.Errorf("%s: escapes in %q", env, out)
		}
	}
	piped := terminalLab(t).run("run", "--model", "script:s.yaml", "look")
	if strings.Contains(piped.err, "\x1b") {
		t.Errorf("escapes in a pipe: %q", piped.err)
	}
	if piped.out != "all \x1b[2Jfine\n" {
		t.Errorf("a file does not get the answer as it is: %q", piped.out)
	}
	for line := range strings.SplitSeq(piped.err, "\n") {
		if widthOf(line) > 80 {
			t.Errorf("%d columns: %q", widthOf(line), line)
		}
	}
}

func TestCutKeepsTheWidth(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"short", 5, "short"},
		{"longer", 5, "long…"},
		{"日本語", 6, "日本語"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日…"},
		{"a word here", 8, "a word…"},
		{"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"},
	} {
		if got := cut(c.text, c.n); got != c.want || widthOf(got) > c.n {
			t.Errorf("cut(%q, %d) = %q (%d columns), want %q", c.text, c.n, got, widthOf(got), c.want)
		}
	}
}

func TestCleanTakesOutWhatActsOnATerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain ü 日":              "plain ü 日",
		"a\x1b[31mred":           "ared",
		"one\ntwo\tthree":        "one two three",
		"\u202etxt.exe\u2066\a":  "txt.exe",
		"\u009b2J and \x00 zero": " and  zero",
	} {
		if got := clean(text); got != want {
			t.Errorf("clean(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add("日本語 and more", 7)
	f.Add("\x1b[0m", 1)
	f.Fuzz(func(t *testing.T, text string, n int) {
		n = 1 + (n&0xff+0x100)%200
		got := cut(clean(text), n)
		if widthOf(got) > n || strings.ContainsFunc(got, unsafe) {
			t.Errorf("cut(%q, %d) = %q with %d columns", text, n, got, widthOf(got))
		}
	})
}

func TestDoctorBreaksItsLinesOnATerminal(t *testing.T) {
	l := terminalLab(t)
	out := commandOnTerminal(l, l.command("doctor"), 60, "ANTHROPIC_API_KEY=", "ANTHROPIC_AUTH_TOKEN=", "OPENAI_API_KEY=", "OPENAI_BASE_URL=")
	for line := range strings.SplitSeq(out, "\n") {
		if widthOf(line) > 60 {
			t.Errorf("%d columns: %s", widthOf(line), line)
		}
	}
	if one := l.run("doctor"); strings.Contains(one.out, "\n ") {
		t.Errorf("a program gets broken lines:\n%s", one.out)
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text   string
		n, max int
		want   string
	}{
		{"", 10, 3, ""},
		{"one two three", 20, 3, "one two three"},
		{"one two three", 7, 3, "one two|three"},
		{"one two three four", 5, 2, "one|two…"},
		{"abcdefghij kl", 4, 9, "abcd|efgh|ij|kl"},
		{"日本語 x", 4, 9, "日本|語 x"},
		{"日", 1, 9, "日"},
	} {
		if got := strings.Join(wrap(c.text, c.n, c.max), "|"); got != c.want {
			t.Errorf("wrap(%q, %d, %d) = %q, want %q", c.text, c.n, c.max, got, c.want)
		}
	}
}
