package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/spf13/cobra"
)

func newBridge(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "bridge",
		Short: "Say which sessions elsewhere may be written to",
		Long: `A session that was started with --nats can write to others that use the
same NATS server, as bridge:SESSION. Nothing goes to one before you have
consented: you are asked before the first message, and what you say is kept
with the session. Here it is shown and changed.`,
	}
	c.AddCommand(newBridgeList(a), newBridgeAllow(a), newBridgeRefuse(a), newBridgeWithdraw(a))
	return c
}

func newBridgeList(a *app) *cobra.Command {
	var f cli.SessionFlags
	var format string
	c := &cobra.Command{
		Use:   "list",
		Short: "List the decisions about sessions elsewhere",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			if err := cli.NoMoreArgs(args, 0, "swarm bridge list"); err != nil {
				return err
			}
			info, err := f.Choose(&a.Console)
			if err != nil {
				return err
			}
			if format == "json" {
				return a.PrintJSON(append([]swarm.Bridge{}, info.Bridges...))
			}
			return printBridges(&a.Console, info)
		},
	}
	f.Add(c, cli.RunningOrNewest)
	c.Flags().StringVar(&format, "format", "text", "the `format`: text or json")
	return c
}

func printBridges(con *cli.Console, info swarm.Info) error {
	if len(info.Bridges) == 0 {
		con.Notef("session %s has no decision about sessions elsewhere yet; its questions are listed by: swarm approvals", info.ID)
		return nil
	}
	var b strings.Builder
	for _, one := range info.Bridges {
		said := "refused"
		if one.Allowed {
			said = "allowed"
		}
		fmt.Fprintf(&b, "%s  %s  since %s\n", term.Clean(one.Session), said, one.Time.Local().Format("2006-01-02 15:04"))
	}
	return con.Print(b.String())
}

func newBridgeAllow(a *app) *cobra.Command {
	return a.bridgeCommand("allow", "Let messages go to a session elsewhere", "messages may go to %s\n", setBridge(true))
}

func newBridgeRefuse(a *app) *cobra.Command {
	return a.bridgeCommand("refuse", "Let no messages go to a session elsewhere", "no messages go to %s\n", setBridge(false))
}

func newBridgeWithdraw(a *app) *cobra.Command {
	return a.bridgeCommand("withdraw", "Withdraw the decision, so that you are asked again", "you are asked before the next message goes to %s\n",
		cli.Session.WithdrawBridge)
}

func setBridge(allowed bool) func(cli.Session, context.Context, string) error {
	return func(s cli.Session, ctx context.Context, session string) error {
		return s.SetBridge(ctx, session, allowed)
	}
}

// bridgeCommand returns a command that changes the consent for one session.
func (a *app) bridgeCommand(verb, short, done string, do func(cli.Session, context.Context, string) error) *cobra.Command {
	var f cli.SessionFlags
	c := &cobra.Command{
		Use:   verb + " SESSION",
		Short: short,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("name one session elsewhere: swarm bridge %s SESSION", verb)
			}
			if name := a.Getenv("SWARM_AGENT"); name != "" {
				return fmt.Errorf("this was started by the agent %s; only a person decides where messages may go", term.Clean(name))
			}
			info, err := f.Choose(&a.Console)
			if err != nil {
				return err
			}
			s, _, err := a.Sessions().Open(info)
			if err != nil {
				return err
			}
			defer s.Close()
			if err := do(s, c.Context(), args[0]); err != nil {
				return err
			}
			return a.Print(fmt.Sprintf(done, term.Clean(args[0])))
		},
	}
	f.Add(c, cli.RunningOrNewest)
	return c
}
