package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/actorswarm/swarm/internal/cli"
	"github.com/spf13/cobra"
)

// Every command that has others refuses what is none of them, and names the nearest
// and all.
func TestUnknownSubcommandsAreRefused(t *testing.T) {
	app := &app{Console: cli.Console{Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" }}}
	groups := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if !sub.HasSubCommands() {
				continue
			}
			groups++
			name := sub.Commands()[0].Name()
			words := append(strings.Fields(sub.CommandPath())[1:], name+"x")
			root := newRoot(app)
			root.SetArgs(words)
			err := root.Execute()
			var exit *cli.ExitError
			if !errors.As(err, &exit) || exit.Code != cli.ExitUsage ||
				!strings.Contains(err.Error(), strings.Join(cli.Subcommands(sub), ", ")+"; did you mean "+sub.CommandPath()+" "+name+"?") {
				t.Errorf("swarm %s: %v", strings.Join(words, " "), err)
			}
			visit(sub)
		}
	}
	visit(newRoot(app))
	if groups < 8 {
		t.Errorf("%d groups were tried", groups)
	}
}

func TestHelpFitsIntoATerminal(t *testing.T) {
	var b bytes.Buffer
	root := newRoot(&app{Console: cli.Console{Out: &b, Getenv: func(string) string { return "" }}})
	root.SetOut(&b)
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		b.Reset()
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(b.String(), "\n") {
			if utf8.RuneCountInString(line) > cli.PlainWidth {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), utf8.RuneCountInString(line), line)
			}
		}
		for _, sub := range c.Commands() {
			if sub.Name() != "agents" && sub.Name() != "completion" { // examples longer than a line, and cobra's text
				visit(sub)
			}
		}
	}
	visit(root)
}
