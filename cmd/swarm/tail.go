package main

import (
	"context"
	"errors"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/spf13/cobra"
)

func newTail(a *app) *cobra.Command {
	var of cli.SessionFlags
	var format string
	var verbose bool
	c := &cobra.Command{
		Use:   "tail [ID]",
		Short: "Follow what the agents of a running session do",
		Long: `Tail shows what happens in a running session, one line per step, until the
session ends. With --format json it writes every event as a line of JSON.`,
		ValidArgsFunction: a.completeSession,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			if err := of.SetSession(args, "swarm tail [ID]"); err != nil {
				return err
			}
			info, err := of.Choose(&a.Console)
			if err != nil {
				return err
			}
			see := rawEvents(&a.Console)
			if format == "text" {
				see = readableEvents(&a.Console, info, verbose)
			}
			return tail(c.Context(), &a.Console, info, see)
		},
	}
	of.Add(c, cli.RunningOnly)
	c.Flags().StringVar(&format, "format", "text", "the `format`: text or json")
	c.Flags().BoolVar(&verbose, "verbose", false, "show tool inputs and results and what agents say")
	return c
}

func tail(ctx context.Context, con *cli.Console, info swarm.Info, see func([]byte) error) error {
	r, err := con.Sessions().Dial(info)
	if err != nil {
		return err
	}
	defer r.Close()
	err = r.Events(ctx, see)
	if errors.Is(err, swarm.ErrEnded) {
		con.Notef("session %s has ended", info.ID)
		return nil
	}
	return err
}

func rawEvents(con *cli.Console) func([]byte) error {
	return func(raw []byte) error { return con.Print(string(raw) + "\n") }
}

func readableEvents(con *cli.Console, info swarm.Info, verbose bool) func([]byte) error {
	show := view.NewProgress(con.Screen(), info.Dir, verbose)
	return func(raw []byte) error {
		e, ok, err := event.Parse(raw)
		if err == nil && ok {
			show.Handle(e)
		}
		return err
	}
}
