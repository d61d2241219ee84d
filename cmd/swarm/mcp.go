package main

import (
	"context"
	"errors"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/mcpserve"
	"github.com/spf13/cobra"
)

func newMCP(a *app) *cobra.Command {
	var of cli.SessionFlags
	var name string
	c := &cobra.Command{
		Use:   "mcp --name NAME",
		Short: "Let a program that speaks MCP be a member of a session",
		Long: `Mcp is a server of the Model Context Protocol on standard input and output. An
agent program that starts it becomes a member of a running session under NAME:
the agents write to it by that name, and its tools send, inbox, tasks and ask
let it write, read, work on the shared task list and ask you. Its mail waits for
it while it is away.

Write the command into the program's list of MCP servers.`,
		Example: `  swarm mcp --name reviewer
  swarm mcp --name reviewer --session 4f1c0de2`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if name == "" {
				return cli.Usagef("give the program a name: swarm mcp --name NAME")
			}
			info, err := of.Choose(&a.Console)
			if err != nil {
				return err
			}
			return serveMCP(c.Context(), &a.Console, info, name)
		},
	}
	c.Flags().StringVar(&name, "name", "", "the `name` by which others write to the program: a-z, 0-9 and -")
	of.Add(c, cli.RunningOnly)
	return c
}

// leaveTimeout is how long a program that ends waits until the session has recorded
// that.
const leaveTimeout = 2 * time.Second

func serveMCP(ctx context.Context, con *cli.Console, info swarm.Info, name string) error {
	r, err := con.Sessions().Dial(info)
	if err != nil {
		return err
	}
	defer r.Close()
	member, err := r.Join(ctx, name)
	if err != nil {
		return err
	}
	served := mcpserve.Serve(ctx, member, con.In, con.Out, mcpserve.Options{Name: name, Session: info.ID, Version: cli.VersionText()})
	leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	if served != nil {
		return served
	}
	if err := member.Leave(leave); !errors.As(err, new(*swarm.SupersededError)) {
		return err
	}
	return nil
}
