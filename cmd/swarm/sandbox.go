package main

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/sandbox"
	"github.com/actorswarm/swarm/internal/settings"
	"github.com/actorswarm/swarm/internal/spelling"
	"github.com/spf13/cobra"
)

func newSandbox(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "sandbox",
		Short: "Show what the commands of agents can reach",
		Long: `The kernel holds each command of an agent to a profile: inspect for one that
runs without a question because it only reads, edit for one that acceptEdits
allows, open for one that a rule or you have allowed. Every profile hides what
swarm keeps, the credentials of your tools, and the files that rules deny.`,
	}
	c.AddCommand(newSandboxExplain(a))
	return c
}

func newSandboxExplain(a *app) *cobra.Command {
	var dir string
	var all bool
	c := &cobra.Command{
		Use:   "explain [PROFILE]",
		Short: "Print a profile, and how this machine enforces it",
		Long: `Explain prints what the profile inspect, edit or open lets a command read,
change and reach in the directory, what it hides, and by what this machine holds
a command to it. Without a name it prints all three. Long lists are shortened;
--all prints them whole. At the end it prints what the settings change, with the
file, and what of them is not in force.`,
		Example: `  swarm sandbox explain
  swarm sandbox explain open --all`,
		ValidArgs: []string{string(sandbox.Inspect), string(sandbox.Edit), string(sandbox.Open)},
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.NoMoreArgs(args, 1, "swarm sandbox explain [PROFILE]"); err != nil {
				return err
			}
			names := sandbox.Names()
			if len(args) > 0 {
				names = []sandbox.Name{sandbox.Name(args[0])}
			}
			if !slices.Contains(sandbox.Names(), names[0]) {
				return cli.Usagef("there is no profile %q; use inspect, edit or open%s", args[0], spelling.DidYouMean(args[0], "", []string{"inspect", "edit", "open"}))
			}
			return a.explainSandbox(dir, names, all)
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "the `directory` of the session (default: the working directory)")
	c.Flags().BoolVar(&all, "all", false, "print every path")
	return c
}

func (a *app) explainSandbox(dir string, names []sandbox.Name, all bool) error {
	state, dir, err := a.Sessions().Directories(dir)
	if err != nil {
		return err
	}
	sources, err := swarm.Options{Dir: dir, Getenv: a.Getenv}.Sources()
	if err != nil {
		return err
	}
	home := a.Getenv("HOME")
	if home == "" {
		if home, err = os.UserHomeDir(); err != nil {
			home = ""
		}
	}
	written, unavailable := settings.ReadSandbox(sources)
	if unavailable != nil && !errors.As(unavailable, new(*settings.UnavailableError)) {
		return unavailable
	}
	place := written.Apply(sandbox.Place{Dirs: []string{dir}, Home: home, Hidden: []string{state}, Getenv: a.Getenv})
	for i, n := range names {
		if i > 0 {
			if err := a.Print("\n"); err != nil {
				return err
			}
		}
		p := place.Profile(n)
		if n == sandbox.Edit {
			p.Outlet, p.Sockets = written.Outlet(sandbox.Probe()), written.Network.Sockets
		}
		explain := p.Summarize
		if all {
			explain = p.Explain
		}
		if err := explain(a.Out, sandbox.Probe()); err != nil {
			return err
		}
	}
	if !all {
		if err := a.Print(explainedAll); err != nil {
			return err
		}
	}
	return a.explainSettings(written, unavailable)
}

// explainedAll is what holds for every profile, and how to see the rest.
const explainedAll = `
Under each profile the files that rules deny to Read are hidden, those that they deny to Edit are
read only, and no process that a command did not start is signalled, traced or read.
All paths: swarm sandbox explain --all
`

// explainSettings prints what of the settings is in force, and what is not.
func (a *app) explainSettings(s settings.Sandbox, unavailable error) error {
	lines := slices.Concat(s.Lines(sandbox.Probe()), s.Notes)
	if unavailable != nil {
		lines = append(lines, "no session starts here: "+unavailable.Error())
	}
	if len(lines) == 0 {
		return nil
	}
	return a.Print("\nsettings:\n  " + strings.Join(lines, "\n  ") + "\n")
}
