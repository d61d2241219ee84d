package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/actorswarm/swarm/agent"
)

// RefuseUnknownCommands makes all commands with subcommands below root refuse words
// that name none of these. Without arguments they run or print their help, as before.
func RefuseUnknownCommands(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "help" {
			c.RunE = showHelp
		}
		refuseUnknown(c)
	}
}

func refuseUnknown(c *cobra.Command) {
	if !c.HasSubCommands() {
		return
	}
	alone := c.RunE
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case len(args) > 0:
			return unknownCommand(c, args[0])
		case alone != nil:
			return alone(c, args)
		}
		return c.Help()
	}
	for _, sub := range c.Commands() {
		refuseUnknown(sub)
	}
}

// unknownCommand returns the error for a word that is no command of c, with similar
// names.
func unknownCommand(c *cobra.Command, typed string) error {
	names := Subcommands(c)
	text := strings.Join(names, ", ")
	if near := agent.Suggest(typed, names); len(near) > 0 {
		text += "; did you mean " + c.CommandPath() + " " + near[0] + "?"
	}
	return Usagef("there is no command %q; the commands are: %s", typed, text)
}

func Subcommands(c *cobra.Command) []string {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

// showHelp implements swarm help COMMAND.
func showHelp(c *cobra.Command, args []string) error {
	about, rest, err := c.Root().Find(args)
	if err != nil {
		return err
	}
	if len(rest) > 0 && about.HasSubCommands() {
		return unknownCommand(about, rest[0])
	}
	about.InitDefaultHelpFlag()
	return about.Help()
}

// NoArgs checks the arguments of a command that takes none.
func NoArgs(c *cobra.Command, args []string) error { return NoMoreArgs(args, 0, c.CommandPath()) }
