package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/team/board"
)

func newTasks(a *app) *cobra.Command {
	var of cli.SessionFlags
	var team, format string
	c := &cobra.Command{
		Use:   "tasks [ID]",
		Short: "Show the task list that the agents of a session share",
		Long: `Tasks shows the shared list of the session that runs, or of the one named: each
task, who has it, what it waits for. Of a session that does not run it shows
the list as it was when the session ended. A team that was brought up from a
file has a list of its own: name it with --team.`,
		ValidArgsFunction: a.completeSession,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			if err := of.SetSession(args, "swarm tasks [ID]"); err != nil {
				return err
			}
			info, err := of.Choose(&a.Console)
			if err != nil {
				return err
			}
			s, _, err := a.Sessions().Open(info)
			if err != nil {
				return err
			}
			defer s.Close()
			all, err := tasksOf(c.Context(), s, team)
			if err != nil {
				return err
			}
			return printTasks(&a.Console, all, format == "json")
		},
	}
	of.Add(c, cli.RunningOrNewest)
	c.Flags().StringVar(&team, "team", "", "the `name` of the team whose list is meant (default: the session's own)")
	c.Flags().StringVar(&format, "format", "text", "the `format`: text or json")
	return c
}

// tasksOf returns the tasks of a team, or of the session.
func tasksOf(ctx context.Context, s cli.Session, team string) ([]board.Task, error) {
	if team == "" {
		return s.Tasks(ctx)
	}
	status, err := s.Team(ctx, team)
	return status.Tasks, err
}

func printTasks(con *cli.Console, all []board.Task, asJSON bool) error {
	if asJSON {
		if all == nil {
			all = []board.Task{}
		}
		return con.PrintJSON(all)
	}
	if len(all) == 0 {
		con.Notef("the task list is empty")
		return nil
	}
	var b strings.Builder
	width := con.Screen().Width()
	for _, t := range all {
		b.WriteString(term.Cut(term.Clean(roster.TaskLine(t)), width) + "\n")
	}
	return con.Print(b.String())
}
