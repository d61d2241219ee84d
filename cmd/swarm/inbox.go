package main

import (
	"context"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/spf13/cobra"
)

func newInbox(a *app) *cobra.Command {
	var of cli.SessionFlags
	var format string
	c := &cobra.Command{
		Use:   "inbox [NAME]",
		Short: "Show the messages of an agent",
		Long: `Inbox shows the unread messages of an agent, the lead if none is named, and the
last that it has read: when each was sent, how far it has come, from whom. The
session may run or not.`,
		ValidArgsFunction: a.completeAgent,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			if err := cli.NoMoreArgs(args, 1, "swarm inbox [NAME]"); err != nil {
				return err
			}
			info, err := of.Choose(&a.Console)
			if err != nil {
				return err
			}
			name := cli.Arg(args, 0)
			if name == "" {
				name = "lead"
			}
			s, _, err := a.Sessions().Open(info)
			if err != nil {
				return err
			}
			defer s.Close()
			all, err := s.Inbox(c.Context(), name)
			if err != nil {
				return err
			}
			return printInbox(&a.Console, name, all, format == "json")
		},
	}
	of.Add(c, cli.RunningOrNewest)
	c.Flags().StringVar(&format, "format", "text", "the `format`: text or json")
	return c
}

func printInbox(con *cli.Console, name string, all []swarm.Trace, asJSON bool) error {
	if asJSON {
		if all == nil {
			all = []swarm.Trace{}
		}
		return con.PrintJSON(all)
	}
	if len(all) == 0 {
		con.Notef("%s has no messages", term.Clean(name))
		return nil
	}
	return con.Print(view.Inbox(con.Screen(), all))
}

func newMessage(a *app) *cobra.Command {
	var of cli.SessionFlags
	var format string
	c := &cobra.Command{
		Use:   "message ID…",
		Short: "Show what became of a message",
		Long: `Message shows a message with each state that it has reached: accepted,
delivered, read, answered, or why it never will be. Of several it counts the
states too, which is the receipt of a message to everybody.`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			if len(args) == 0 {
				return cli.Usagef("name a message: swarm message ID")
			}
			info, err := of.Choose(&a.Console)
			if err != nil {
				return err
			}
			return messages(c.Context(), &a.Console, info, args, format == "json")
		},
	}
	of.Add(c, cli.RunningOrNewest)
	c.Flags().StringVar(&format, "format", "text", "the `format`: text or json")
	return c
}

func messages(ctx context.Context, con *cli.Console, info swarm.Info, ids []string, asJSON bool) error {
	s, _, err := con.Sessions().Open(info)
	if err != nil {
		return err
	}
	defer s.Close()
	var all []swarm.Trace
	for _, id := range ids {
		m, err := s.Message(ctx, mailbox.ID(id))
		if err == nil {
			m.Envelope.Body, err = swarm.WholeBody(info, m.Envelope)
		}
		if err != nil {
			return err
		}
		all = append(all, m)
	}
	if asJSON {
		return con.PrintJSON(all)
	}
	return con.Print(view.History(info, all))
}
