package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/creack/pty"
)

const twoAgents = `rules:
  - when: {agent: lead, step: 0}
    say:
      calls:
        - {tool: Agent, input: {name: security, subagent_type: security, description: look at everything that could possibly go wrong in here, prompt: look}}
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
	t.Parallel()
	out := onTerminal(terminalLab(t), 40)
	if !strings.Contains(out, "\x1b[31msecurity\x1b[0m  started · look at every") {
		t.Errorf("no red name in:\n%q", out)
	}
	for line := range strings.SplitSeq(out, "\n") {
		plain := strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "").Replace(line)
		if strings.HasPrefix(plain, "security") && utf8.RuneCountInString(plain) > 40 {
			t.Errorf("%d columns: %q", utf8.RuneCountInString(plain), plain)
		}
	}
	if strings.Contains(out, "\x1b[2J") {
		t.Error("the answer could clear the screen")
	}
}

func TestWithoutColourNothingIsPainted(t *testing.T) {
	t.Parallel()
	for _, env := range []string{"NO_COLOR=1", "TERM=dumb"} {
		if out := onTerminal(terminalLab(t), 100, env); strings.Contains(out, "\x1b") {
			t.Errorf("%s: escapes in %q", env, out)
		}
	}
	piped := terminalLab(t).run("run", "--model", "script:s.yaml", "look")
	if strings.Contains(piped.err, "\x1b") {
		t.Errorf("escapes in a pipe: %q", piped.err)
	}
	if piped.out != "all fine\n" {
		t.Errorf("in a pipe the answer is %q", piped.out)
	}
	for line := range strings.SplitSeq(piped.err, "\n") {
		if utf8.RuneCountInString(line) > 80 {
			t.Errorf("%d columns: %q", utf8.RuneCountInString(line), line)
		}
	}
}

func TestDoctorBreaksItsLinesOnATerminal(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed, and doctor fails without it")
	}
	l := terminalLab(t)
	out := commandOnTerminal(l, l.command("doctor"), 60, "ANTHROPIC_API_KEY=", "ANTHROPIC_AUTH_TOKEN=", "OPENAI_API_KEY=", "OPENAI_BASE_URL=")
	for line := range strings.SplitSeq(out, "\n") {
		if utf8.RuneCountInString(line) > 60 {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
	if one := l.run("doctor"); strings.Contains(one.out, "\n ") {
		t.Errorf("a program gets broken lines:\n%s", one.out)
	}
}

const evil = `\u001b]52;c;eA==\u0007\u001b[2J\u009b2J\r\u202e`

const evilTeam = `rules:
  - when: {agent: lead, step: 0}
    say:
      text: "hm EVIL"
      calls:
        - {tool: Agent, input: {name: ann, description: "look EVIL", prompt: "look EVIL"}}
        - {tool: SendMessage, input: {to: ann, summary: "sum EVIL", message: "text EVIL"}}
        - {tool: TaskCreate, input: {subject: "task EVIL", description: "EVIL"}}
        - {tool: Bash, input: {command: "printf '\\033]52;c;eA==\\007'", description: "EVIL"}}
        - {tool: "EVIL", input: {}}
  - say: {text: "all EVIL fine"}
`

// What agents write is shown by many commands; none hands on what acts on a terminal, to
// which what is piped comes in the end, too.
func TestNothingThatAgentsWriteActsOnATerminal(t *testing.T) {
	t.Parallel()
	l := newLab(t, map[string]string{
		"s.yaml": strings.ReplaceAll(evilTeam, "EVIL", evil), ".claude/agents/evil.md": "---\nname: evil\ndescription: \"one " + evil + "\"\ntools: [Read, \"" + evil + "\"]\n---\n\x1b]52;c;eA==\a\u009b2J",
	})
	check := func(where, out string, args []string) {
		t.Helper()
		if bad := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && unicode.IsControl(r) || r == 0x202e }); bad >= 0 {
			t.Errorf("swarm %s prints %s %q", strings.Join(args, " "), where, out[max(0, bad-40):min(len(out), bad+40)])
		}
		if len(out) < 10 {
			t.Errorf("swarm %s prints %s %q only", strings.Join(args, " "), where, out)
		}
	}
	see := func(args ...string) {
		t.Helper()
		check("on a terminal", commandOnTerminal(l, l.command(args...), 100, "NO_COLOR=1"), args)
		piped := l.run(args...)
		check("into a pipe", piped.out+piped.err, args)
	}
	see("run", "--verbose", "--model", "script:s.yaml", "--permission-mode", "bypassPermissions", "go EVIL "+"\x1b]52;c;eA==\a")
	var inbox []struct {
		Envelope struct{ ID string } `json:"envelope"`
	}
	if err := json.Unmarshal([]byte(l.run("inbox", "ann", "--format", "json").out), &inbox); err != nil || len(inbox) == 0 {
		t.Fatal(err, inbox)
	}
	see("message", inbox[0].Envelope.ID)
	for _, line := range []string{
		"ps", "tasks", "team status", "inbox ann", "logs lead", "logs ann", "result lead", "result ann", "agents list", "agents show evil", "permissions list",
		"sandbox explain inspect",
	} {
		see(strings.Fields(line)...)
	}
	for _, line := range []string{
		"tail", "approvals", "agents check", "send nobody\x1b]52;c;eA==\a text", "stop nobody\x1b]52;c;eA==\a", "result nobody\x1b]52;c;eA==\a", "ps --x\x1b]52;c;eA==\a",
	} { // some of them fail
		args := strings.Fields(line)
		piped := l.run(args...)
		check("into a pipe", piped.out+piped.err, args)
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed, and doctor fails without it")
	}
	see("doctor")
}
