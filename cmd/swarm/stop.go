package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newStop(a *app) *cobra.Command {
	var dir, session string
	c := &cobra.Command{
		Use:   "stop NAME",
		Short: "End an agent of a running session",
		Long: `Stop ends one agent at once, with the command it may be running; the others go
on. When it returns nothing of the agent runs any more.`,
		ValidArgsFunction: a.completeAgent,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("name one agent to stop: swarm stop NAME")
			}
			info, err := a.choose(dir, session)
			if err != nil {
				return err
			}
			r, err := a.dial(info)
			if err != nil {
				return err
			}
			defer r.Close()
			if err := r.Stop(c.Context(), args[0]); err != nil {
				return err
			}
			return fprint(a.out, fmt.Sprintf("%s has stopped\n", clean(args[0])))
		},
	}
	c.Flags().StringVar(&session, "session", "", "the session's id (default: the one that runs)")
	c.Flags().StringVar(&dir, "dir", "", "the directory whose session is meant (default: the working directory)")
	return c
}
