package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/clitest"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// everyCommand visits a command and all below it, in the order of their names.
func everyCommand(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		if sub.Name() != "completion" { // cobra's own, with its own texts
			everyCommand(sub, visit)
		}
	}
}

func noEnv(string) string { return "" }

// homeOnly is an environment without keys, settings or a terminal.
func homeOnly(name string) string {
	if name == "HOME" {
		return os.Getenv(name)
	}
	return ""
}

// inEmptyHome does something in a directory that is empty and the home too.
func inEmptyHome(t *testing.T, do func(t *testing.T)) {
	t.Helper()
	t.Run("in an empty home", func(t *testing.T) {
		dir := t.TempDir()
		t.Setenv("HOME", dir)
		t.Chdir(dir)
		do(t)
	})
}

// runHere does one command line in this process, in an empty home and directory.
func runHere(args ...string) (code int, out, errOut string) {
	var o, e bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(""), &o, &e, homeOnly)
	return code, o.String(), e.String()
}

// The help of every command is in a golden file, with the flags that it hides: a
// command, a flag or a default cannot change unseen.
func TestHelpOfEveryCommand(t *testing.T) {
	var b strings.Builder
	everyCommand(newRoot(&app{Console: cli.Console{Getenv: noEnv}}), func(c *cobra.Command) {
		words := strings.Fields(c.CommandPath())[1:]
		code, out, errOut := runHere(append(words, "--help")...)
		if code != 0 || errOut != "" {
			t.Errorf("%s --help: exit status %d: %s", c.CommandPath(), code, errOut)
		}
		fmt.Fprintf(&b, "$ %s --help\n%s", c.CommandPath(), out)
		if len(c.Aliases) > 0 || c.Hidden {
			fmt.Fprintf(&b, "\n(hidden: %v, aliases: %q)\n", c.Hidden, c.Aliases)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden && c.HasParent() { // the root hides those of run
				fmt.Fprintf(&b, "(hidden flag: --%s %s)\n", f.Name, f.Value.Type())
			}
		})
		b.WriteString("\n")
	})
	clitest.Golden(t, "help.txt", b.String())
}

// wrongUses are command lines that are wrong whatever the directory holds.
var wrongUses = []string{
	"nosuch", "--nosuch", "--continue",
	"run", "run --output-format xml x", "run --input-format xml x", "run --max-turns 0 x", "run --continue --resume a x",
	"run --session-id a --resume b x", "run --resume= x", "run --permission-prompts maybe x", "run --ask-timeout 0s x",
	"run --permission-prompts none --ask-timeout 1m x", "run --permission-mode brave x", "run --max-budget-usd 0 x",
	"run --permission-mode plan --dangerously-skip-permissions x", "run --permission-mode plan --permission-mode acceptEdits x",
	"run --max-tokens-total -1 x", "run --max-time never x", "run --start-timeout soon x", "run --inbound-expiry soon x",
	"run --inbound perhaps x", "run --teammate-mode nowhere x", "run --nats-replicas 7 x", "run --listen-cert a x", "run --allowedTools Bash( x",
	"run --agents { x", "run --dir nowhere x", "run --session-id Not/One x",
	"resume nosuch", "resume --max-turns 0", "serve --max-turns 0", "serve --continue --resume a",
	"agents nosuch", "agents list x", "agents list --format xml", "agents list --source mine", "agents show", "agents show a b", "agents show nosuch",
	"agents explain", "agents explain Explore --call x", "agents check --format xml", "agents check nowhere", "agents new", "agents new x",
	"agents new --location sky", "agents new --prompt a --prompt-file b", "agents edit", "agents edit nosuch", "agents rm", "agents rm nosuch", "agents fmt nowhere",
	"approvals --format xml", "approvals nosuch", "approvals allow", "approvals deny", "approvals answer", "approvals allow nosuch",
	"attach a b", "attach a --session b", "attach nosuch", "quit a b", "quit nosuch",
	"bridge nosuch", "bridge list x", "bridge list --format xml", "bridge allow", "bridge refuse", "bridge withdraw",
	"bus nosuch", "bus user nosuch", "bus user add", "bus user list x", "bus user list --format xml", "bus user remove",
	"bg", "compact", "interrupt", "kill", "stop", "stop a b", "stop ann", "down", "down a --all", "down a --grace -1s",
	"demo x", "demo --output-format xml", "doctor x", "help nosuch", "version x",
	"hooks nosuch", "hooks list x", "hooks test",
	"inbox a b", "inbox --format xml", "inbox", "logs", "logs a --format xml", "logs lead", "message", "message --format xml", "message x",
	"mcp", "mcp x", "mcp config", "mcp config a b", "mcp config a", "mcp list x", "mcp list --format xml", "mcp get", "mcp get nosuch", "mcp add", "mcp add a", "mcp add a b --scope all", "mcp add a b --env x",
	"mcp add -t http a http://h x", "mcp add-json", "mcp add-json a {", "mcp remove", "mcp remove nosuch", "ps a b", "ps --format xml", "ps nosuch", "ps --dir nowhere", "result", "result a b", "result lead",
	"permissions nosuch", "permissions list x", "permissions list --format xml", "permissions check", "permissions check bash ls",
	"permissions check Bash(ls", "permissions allow", "permissions ask Bahs", "permissions deny Bash --scope all", "permissions remove Bash(x)",
	"sandbox nosuch", "sandbox explain nosuch", "sandbox explain open x",
	"send", "send lead", "send lead x --class loud", "send lead x", "tail a b", "tail --format xml", "tail nosuch",
	"tasks a b", "tasks --format xml", "tasks nosuch", "team nosuch", "team up", "team up nosuch", "team up a --session b --resume c",
	"team status a b", "team status --format xml", "team add", "team add a", "team remove a", "team down",
	"teammate", "teammate x", "trust a b", "trust nosuch", "worktrees nosuch", "worktrees list x", "worktrees list --format xml", "worktrees rescue", "worktrees prune x",
}

// The exit status of wrong command lines is in a golden file too. Each ends with one
// line with what to write instead.
func TestExitStatusOfWrongUses(t *testing.T) {
	var b strings.Builder
	inEmptyHome(t, func(t *testing.T) { useWrongly(t, &b) })
	clitest.Golden(t, "usage.txt", b.String())
}

// useWrongly tries every wrong use; each command has one at least.
func useWrongly(t *testing.T, b *strings.Builder) {
	tried := map[string]bool{}
	for _, line := range wrongUses {
		args := strings.Fields(line)
		code, out, errOut := runHere(args...)
		fmt.Fprintf(b, "%d  swarm %s\n", code, line)
		if code == 0 || out != "" || strings.Count(errOut, "\n") != 1 {
			t.Errorf("swarm %s: exit status %d, %q, %q", line, code, out, errOut)
		}
		c, _, err := newRoot(&app{Console: cli.Console{Getenv: noEnv}}).Find(args)
		if err == nil {
			tried[c.CommandPath()] = true
		}
	}
	everyCommand(newRoot(&app{Console: cli.Console{Getenv: noEnv}}), func(c *cobra.Command) {
		if !tried[c.CommandPath()] {
			t.Errorf("no wrong use of %s is tried", c.CommandPath())
		}
	})
}
