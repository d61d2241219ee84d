package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/definitions"
	"github.com/actorswarm/swarm/internal/cli/doctor"
	"github.com/actorswarm/swarm/internal/cli/hooks"
	"github.com/actorswarm/swarm/internal/cli/permissions"
)

// talkFlag reports the flags that also apply to interactive use.
func talkFlag(name string) bool {
	return slices.Contains([]string{"print", "continue", "resume", "model", "permission-mode", "dir"}, name)
}

const longHelp = `swarm runs a lead agent and the agents it starts on the files of a directory.
Agents are defined in .claude/agents/*.md of the directory and of your home.

  swarm                                         talk with the lead and others
  swarm run "find the three largest functions"  do one job (same as swarm -p)
  swarm ps                                      what each agent is doing
  swarm send security "look at auth.go too"     write to an agent at work
  swarm resume                                  continue where you left off
  swarm serve --detach; swarm attach            work that outlives terminals`

func newRoot(a *app) *cobra.Command {
	flags := &runFlags{}
	root := &cobra.Command{
		Use:           "swarm",
		Short:         "Run swarms of agents on a repository",
		Long:          longHelp,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		// Without it nothing is near enough to be suggested.
		SuggestionsMinimumDistance: 2,
		RunE: func(c *cobra.Command, args []string) error {
			return a.runWithoutCommand(c, flags, args)
		},
	}
	root.Version = cli.VersionText()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", cli.PlainWidth)))
	flags.add(root)
	// The others belong to run; here they only serve swarm -p.
	root.Flags().VisitAll(func(f *pflag.Flag) { f.Hidden = !talkFlag(f.Name) })
	root.SetFlagErrorFunc(cli.FlagError)
	root.AddCommand(
		newRun(a), newResume(a), newPs(a), newTasks(a), newTeam(a), newSend(a), newInbox(a), newMessage(a), newApprovals(a), newTail(a), newServe(a), newAttach(a), newTeammate(a), newQuit(a), newInterrupt(a), newStop(a), newKill(a), newBg(a), newCompact(a), newResult(a), newLogs(a), newWorktrees(a),
		newDown(a),
		newBridge(a), newBus(a), newSandbox(a),
		definitions.New(&a.Console), newDemo(a), newMCP(a), doctor.New(&a.Console), hooks.New(&a.Console), hooks.NewTrust(&a.Console), permissions.New(&a.Console), newVersion(a),
	)
	for _, c := range root.Commands() {
		a.completeFlags(c)
	}
	cli.RefuseUnknownCommands(root)
	return root
}

// runWithoutCommand is swarm without a subcommand.
func (a *app) runWithoutCommand(c *cobra.Command, flags *runFlags, args []string) error {
	if flags.print {
		return a.runPrompt(c, flags, args)
	}
	if len(args) == 0 && a.OnTerminal() {
		return a.runInteractiveDefault(c, flags)
	}
	if len(args) == 0 && c.Flags().NFlag() > 0 {
		return cli.Usagef("there is no terminal to talk in; give a prompt: swarm run PROMPT, or go on with a session: swarm resume ID")
	}
	if len(args) == 0 {
		return a.showHelpUnlessPiped(c)
	}
	return cli.Usagef("there is no command %q; to give a prompt: swarm run %q%s", args[0], strings.Join(args, " "), suggestion(c, args[0]))
}

// showHelpUnlessPiped prints the help, or an error if there is piped input, which would
// be ignored.
func (a *app) showHelpUnlessPiped(c *cobra.Command) error {
	text, err := a.ReadInput()
	switch {
	case err != nil:
		return err
	case text != "":
		return cli.Usagef("what comes from standard input is a prompt for swarm run; give it there: … | swarm run")
	}
	return c.Help()
}

// runInteractiveDefault is swarm on a terminal without arguments.
func (a *app) runInteractiveDefault(c *cobra.Command, flags *runFlags) error {
	if err := flags.check(c); err != nil {
		return err
	}
	if flags.show.format != "text" {
		return cli.Usagef("--output-format %s is for one prompt: swarm -p PROMPT", flags.show.format)
	}
	opts, err := flags.options(a)
	if err != nil {
		return err
	}
	return a.runInteractive(c.Context(), opts)
}

func suggestion(c *cobra.Command, typed string) string {
	near := c.SuggestionsFor(typed) // by name, not by nearness
	if nearest := agent.Suggest(typed, near); len(nearest) > 0 {
		near = nearest
	}
	if len(near) > 0 {
		return "; did you mean swarm " + near[0] + "?"
	}
	return ""
}

// insertRun turns swarm … -p … into swarm run …, so that a prompt that begins with the
// name of a subcommand stays a prompt.
func insertRun(root *cobra.Command, args []string) []string {
	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	}
	at := slices.IndexFunc(args[:end], func(s string) bool { return s == "-p" || s == "--print" })
	if at < 0 || slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == args[0] }) {
		return args
	}
	return slices.Concat([]string{"run"}, args[:at], args[at+1:])
}
