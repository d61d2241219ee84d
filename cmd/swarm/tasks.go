package main

import (
	"context"
	"strings"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
	"github.com/spf13/cobra"
)

func newTasks(a *app) *cobra.Command {
	var dir, format string
	c := &cobra.Command{
		Use:   "tasks [ID]",
		Short: "Show the task list that the agents of a session share",
		Long: `Tasks shows the shared list of the session that runs, or of the one named: each
task, who has it, what it waits for. Of a session that does not run it shows
the list as it was when the session ended.`,
		ValidArgsFunction: a.completeSession,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			if err := noMore(args, 1, "swarm tasks [ID]"); err != nil {
				return err
			}
			info, err := a.choose(dir, at(args, 0))
			if err != nil {
				return err
			}
			all, err := a.tasks(c.Context(), info)
			if err != nil {
				return err
			}
			return a.showTasks(all, format == "json")
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "the `directory` whose session is meant (default: the working directory)")
	c.Flags().StringVar(&format, "format", "text", "the `format`: text or json")
	return c
}

// tasks asks the session, or reads what it has left.
func (a *app) tasks(ctx context.Context, info swarm.Info) ([]board.Task, error) {
	r, err := a.dial(info)
	switch {
	case err == nil:
		defer r.Close()
		return r.Tasks(ctx)
	case notRunning(err):
		return swarm.KeptTasks(info)
	}
	return nil, err
}

func (a *app) showTasks(all []board.Task, asJSON bool) error {
	if asJSON {
		if all == nil {
			all = []board.Task{}
		}
		return writeJSON(a.out, all)
	}
	if len(all) == 0 {
		a.say("the task list is empty")
		return nil
	}
	var b strings.Builder
	width := newScreen(a.out, a.env).width()
	for _, t := range all {
		b.WriteString(cut(clean(team.TaskLine(t)), width) + "\n")
	}
	return fprint(a.out, b.String())
}
