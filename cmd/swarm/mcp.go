package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/servers"
	"github.com/actorswarm/swarm/internal/mcpserve"
	"github.com/spf13/cobra"
)

func newMCP(a *app) *cobra.Command {
	var of cli.SessionFlags
	var name string
	c := &cobra.Command{
		Use:   "mcp --name NAME",
		Short: "Configure MCP servers, or be one that joins a session",
		Long: `With a command below, mcp shows and changes the MCP servers whose tools the
agents of sessions have. Those of .mcp.json start once the directory is trusted
(swarm trust).

With --name, mcp is a server of the Model Context Protocol on standard input and
output. An agent program that starts it becomes a member of a running session
under NAME: the agents write to it by that name, and its tools send, inbox,
tasks and ask let it write, read, work on the shared task list and ask you. Its
mail waits for it while it is away.

A name that has a token belongs to who has it: swarm mcp config NAME makes one
and prints what to write into the program's list of MCP servers. The token is
read from the file that SWARM_TOKEN_FILE names, or from SWARM_TOKEN. Without
one, only a process of yours can join, under a name that has no token; what an
agent has started cannot.`,
		Example: `  swarm mcp add files -- mcp-server-filesystem .
  swarm mcp list
  swarm mcp config reviewer
  swarm mcp --name reviewer
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
	c.AddCommand(newMCPConfig(a))
	servers.AddTo(c, &a.Console)
	return c
}

func newMCPConfig(a *app) *cobra.Command {
	var of cli.SessionFlags
	c := &cobra.Command{
		Use:   "config NAME",
		Short: "Print what to paste into a program that is to be a member",
		Long: `Config makes a token for NAME and prints an entry for the list of MCP servers of
an agent program, which most of them read as it is (.mcp.json, mcp.json). The
entry names the file with the token and does not contain it; what agents start
cannot read that file. If there is a token already, it stays as it is. With
swarm bus user remove NAME the token opens nothing more.`,
		Example: `  swarm mcp config reviewer > ../reviewer/.mcp.json`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("name the member: swarm mcp config NAME")
			}
			info, err := of.Choose(&a.Console)
			if err != nil {
				return err
			}
			return printMCPConfig(c.Context(), &a.Console, info, args[0])
		},
	}
	of.Add(c, cli.RunningOrNewest)
	return c
}

// mcpServer is an entry in the list of MCP servers of an agent program.
type mcpServer struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

func printMCPConfig(ctx context.Context, con *cli.Console, info swarm.Info, name string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program swarm: %w", err)
	}
	file, err := cli.MakeToken(ctx, con, info, name)
	if err != nil {
		return err
	}
	env := map[string]string{cli.TokenFileVariable: file}
	if home := con.Getenv("SWARM_HOME"); home != "" {
		env["SWARM_HOME"] = home
	}
	entry := mcpServer{self, []string{"mcp", "--name", name, "--session", info.ID}, env}
	raw, err := json.MarshalIndent(map[string]map[string]mcpServer{"mcpServers": {"swarm": entry}}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the configuration: %w", err)
	}
	return con.Print(string(raw) + "\n")
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
	member, err := joinByToken(ctx, con, r, info, name)
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

// joinByToken joins with the token of the name, or without one if there is none.
func joinByToken(ctx context.Context, con *cli.Console, r *swarm.Remote, info swarm.Info, name string) (*swarm.RemoteMember, error) {
	token, err := cli.Token(con, info, name)
	switch {
	case err != nil:
		return nil, err
	case token == "":
		return r.Join(ctx, name)
	}
	return r.JoinByKey(ctx, name, token, 0)
}
