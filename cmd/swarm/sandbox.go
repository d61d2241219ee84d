package main

import (
	"os"
	"slices"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/sandbox"
	"github.com/actorswarm/swarm/internal/settings"
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
	c := &cobra.Command{
		Use:   "explain [PROFILE]",
		Short: "Print a profile, and how this machine enforces it",
		Long: `Explain prints what the profile inspect, edit or open lets a command read,
change and reach in the directory, what it hides, and by what this machine holds
a command to it. Without a name it prints all three.`,
		Example: `  swarm sandbox explain
  swarm sandbox explain open`,
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
				return cli.Usagef("there is no profile %q; use inspect, edit or open", args[0])
			}
			return a.explainSandbox(dir, names)
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "the `directory` of the session (default: the working directory)")
	return c
}

func (a *app) explainSandbox(dir string, names []sandbox.Name) error {
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
	written, err := settings.ReadSandbox(sources)
	if err != nil {
		return err
	}
	place := written.Apply(sandbox.Place{Dirs: []string{dir}, Home: home, Hidden: []string{state}, Getenv: a.Getenv})
	for i, n := range names {
		if i > 0 {
			if err := a.Print("\n"); err != nil {
				return err
			}
		}
		if err := place.Profile(n).Explain(a.Out, sandbox.Probe()); err != nil {
			return err
		}
	}
	return nil
}
