package main

import (
	"encoding/json"
	"fmt"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/spf13/cobra"
)

func newWorktrees(a *app) *cobra.Command {
	var dir, format string
	c := &cobra.Command{
		Use:   "worktrees",
		Short: "List, rescue and remove the git worktrees of agents",
		Long: `An isolated agent works in a git worktree of its own. One that it left untouched
is removed at its end; one that holds something stays until you have looked.`,
	}
	c.PersistentFlags().StringVar(&dir, "dir", "", "the `directory` whose sessions are meant (default: the working directory)")
	list := &cobra.Command{
		Use: "list", Short: "List the worktrees of this directory's sessions", Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			state, dir, err := a.Sessions().Directories(dir)
			if err != nil {
				return err
			}
			all, err := swarm.Worktrees(c.Context(), state, dir)
			if err != nil {
				return err
			}
			return printWorktrees(&a.Console, all, format == "json")
		},
	}
	list.Flags().StringVar(&format, "format", "text", "the `format`: text or json")
	rescue := &cobra.Command{
		Use: "rescue AGENT", Short: "Commit all that is in a worktree to refs/swarm/rescue/AGENT",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("name one agent, as swarm worktrees list shows it: swarm worktrees rescue AGENT")
			}
			state, dir, err := a.Sessions().Directories(dir)
			if err != nil {
				return err
			}
			ref, err := swarm.RescueWorktree(c.Context(), state, dir, args[0])
			if err != nil {
				return err
			}
			return a.Print(fmt.Sprintf("everything is in %s; see it with: git show --stat %s\n", ref, ref))
		},
	}
	c.AddCommand(list, rescue, newPrune(a, &dir))
	return c
}

func newPrune(a *app, dir *string) *cobra.Command {
	var withRescue bool
	prune := &cobra.Command{
		Use: "prune", Short: "Remove worktrees that hold nothing of their own", Args: cli.NoArgs,
		Long: `Prune removes the worktrees that no running session holds and that are
untouched. With --rescue it first commits what is in the others to
refs/swarm/rescue/AGENT and
removes them too. It never deletes what git does not hold.`,
		RunE: func(c *cobra.Command, _ []string) error {
			state, dir, err := a.Sessions().Directories(*dir)
			if err != nil {
				return err
			}
			all, err := swarm.PruneWorktrees(c.Context(), state, dir, withRescue)
			if err != nil {
				return err
			}
			return printWorktrees(&a.Console, all, false)
		},
	}
	prune.Flags().BoolVar(&withRescue, "rescue", false, "commit what is in a worktree to its rescue ref, then remove it")
	return prune
}

func printWorktrees(con *cli.Console, all []swarm.Worktree, asJSON bool) error {
	if asJSON {
		raw, err := json.Marshal(append([]swarm.Worktree{}, all...))
		if err != nil {
			return err
		}
		return con.Print(string(raw) + "\n")
	}
	if len(all) == 0 {
		return con.Print("no agent of this directory has a worktree\n")
	}
	for _, w := range all {
		if err := con.Print(view.Worktree(w) + "\n"); err != nil {
			return err
		}
	}
	return nil
}
