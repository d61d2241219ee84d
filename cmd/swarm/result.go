package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/actorswarm/swarm/internal/term"
)

func newResult(a *app) *cobra.Command {
	var of cli.SessionFlags
	c := &cobra.Command{
		Use:   "result NAME",
		Short: "Print what an agent said last",
		Long: `Result prints the final text of an agent's last turn, whole, however long it is
and however long ago. The session may run or not. The exit code is 1 if that
turn did not complete.`,
		ValidArgsFunction: a.completeAgent,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("name one agent: swarm result NAME")
			}
			info, err := of.Choose(&a.Console)
			if err != nil {
				return err
			}
			session, running, err := a.Sessions().Open(info)
			if err != nil {
				return err
			}
			defer session.Close()
			s, err := session.Agent(c.Context(), args[0])
			if err != nil {
				return err
			}
			if err := a.Print(view.Printable(a.Out, strings.TrimSuffix(s.Record.Result, "\n")) + "\n"); err != nil {
				return err
			}
			if o := s.Record.Outcome; o != "completed" {
				return fmt.Errorf("the last turn of %s is not a completed one: %s", term.Clean(args[0]), outcomeOf(s, running, info.ID))
			}
			return nil
		},
	}
	of.Add(c, cli.RunningOrNewest)
	return c
}

func outcomeOf(s actors.Status, running bool, session string) string {
	switch l := s.Record; {
	case l.TurnOpen && !running:
		return "it was cut; go on with: swarm resume " + session
	case l.TurnOpen:
		return "it still works"
	case l.Outcome == "":
		return "it has not worked yet"
	case l.Reason != "":
		return fmt.Sprintf("%s (%s)", l.Outcome, l.Reason)
	default:
		return string(l.Outcome)
	}
}
