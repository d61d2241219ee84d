package main

import (
	"fmt"
	"io"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/spf13/cobra"
)

func newDown(a *app) *cobra.Command {
	var of cli.SessionFlags
	var all bool
	grace := 30 * time.Second
	c := &cobra.Command{
		Use:   "down NAME… | --all",
		Short: "End agents of a running session, after a time of grace",
		Long: `Down asks agents to bring their work to a safe end, which cuts the command or
answer that they are in. Within the grace time each ends by itself or objects
once, which is shown; then it is asked again and may not refuse. What has not
ended when the time is over is ended, with its commands and all that work for
it. An agent that is down cannot be written to any more: its name is free, and
its tasks are offered again. Down returns when all are gone, and does nothing
for those that are gone already.`,
		Example: `  swarm down ann
  swarm down --all --grace 5s
  swarm down ben --grace 0s`,
		ValidArgsFunction: a.completeAgent,
		RunE: func(c *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return cli.Usagef("name the agents that are to end, or say --all: swarm down NAME…")
			}
			if grace < 0 {
				return cli.Usagef("--grace is %v; give a time such as 5s, or 0s to end them at once", grace)
			}
			info, err := of.Choose(&a.Console)
			if err != nil {
				return err
			}
			r, err := a.Sessions().Dial(info)
			if err != nil {
				return err
			}
			defer r.Close()
			gone, err := r.Down(c.Context(), args, grace)
			if printed := printShutdowns(a.Out, gone); printed != nil {
				return printed
			}
			return err
		},
	}
	c.Flags().BoolVar(&all, "all", false, "all agents but the lead")
	c.Flags().DurationVar(&grace, "grace", grace, "the `duration` within which an agent may end by itself, such as 5s")
	of.Add(c, cli.RunningOnly)
	return c
}

// printShutdowns prints a line for each agent, and one for each objection and for
// each agent that went with another.
func printShutdowns(w io.Writer, all []swarm.ShutdownResult) error {
	for _, d := range all {
		if d.Objection != "" {
			if err := cli.Fprint(w, fmt.Sprintf("%s objects: %s\n", term.Clean(d.Name), term.Clean(d.Objection))); err != nil {
				return err
			}
		}
		line := "goes on"
		if d.Gone {
			line = "has ended: " + term.Clean(d.Why)
		}
		if err := cli.Fprint(w, fmt.Sprintf("%s %s\n", term.Clean(d.Name), line)); err != nil {
			return err
		}
		if len(d.Ended) > 1 {
			if err := printEnded(w, d.Ended[1:]); err != nil {
				return err
			}
		}
	}
	return nil
}

func printEnded(w io.Writer, all []swarm.Ended) error {
	for _, e := range all {
		if err := cli.Fprint(w, "  "+term.Clean(e.String())+"\n"); err != nil {
			return err
		}
	}
	return nil
}
