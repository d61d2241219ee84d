package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/view"
)

func newPs(a *app) *cobra.Command {
	var of cli.SessionFlags
	var format string
	c := &cobra.Command{
		Use:   "ps [ID]",
		Short: "List sessions, or the agents of one",
		Long: `Ps lists the sessions of the directory, newest first. With an id, or when just
one session runs, it shows the agents of that session as a tree, each with the
tokens and the money it has used; behind a slash stands what it and all agents
below it have used together. $? is a price that is
not known: see docs/models.md.`,
		ValidArgsFunction: a.completeSession,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			if err := of.SetSession(args, "swarm ps [ID]"); err != nil {
				return err
			}
			return ps(c.Context(), &a.Console, of.Dir, of.Session, format == "json")
		},
	}
	of.Add(c, "all of the directory")
	c.Flags().StringVar(&format, "format", "text", "the `format`: text or json")
	return c
}

func ps(ctx context.Context, con *cli.Console, dir, id string, asJSON bool) error {
	if id != "" {
		info, err := con.Sessions().Find(dir, id)
		if err != nil {
			return err
		}
		return psOne(ctx, con, info, asJSON)
	}
	all, err := con.Sessions().List(dir)
	if err != nil {
		return err
	}
	list, err := psList(ctx, con, all)
	switch {
	case err != nil:
		return err
	case asJSON:
		return con.PrintJSON(list)
	case len(list) == 0:
		if _, err := os.Stat(dir); dir != "" && err != nil {
			return cli.Usagef("--dir: %v", err)
		}
		con.Notef("no session has been started here yet; start one with: swarm run PROMPT")
		return nil
	}
	return con.Print(view.SessionTable(con.Screen(), list, time.Now()))
}

func psOne(ctx context.Context, con *cli.Console, info swarm.Info, asJSON bool) error {
	agents, running, err := agents(ctx, con, info)
	if err != nil {
		return err
	}
	s := view.NewSessionRow(info, running)
	s.Agents = view.AgentRows(agents)
	if asJSON {
		return con.PrintJSON(s)
	}
	return con.Print(view.Tree(con.Screen(), s.Agents, time.Now(), 0))
}

// psList returns the sessions, with the agents of the only one that runs.
func psList(ctx context.Context, con *cli.Console, all []swarm.Info) ([]view.SessionRow, error) {
	running := con.Sessions().Running(all)
	list := make([]view.SessionRow, 0, len(all))
	for _, info := range all {
		s := view.NewSessionRow(info, contains(running, info.ID))
		if s.Running && len(running) == 1 {
			agents, _, err := agents(ctx, con, info)
			if err != nil {
				return nil, err
			}
			s.Agents = view.AgentRows(agents)
		}
		list = append(list, s)
	}
	return list, nil
}

func contains(all []swarm.Info, id string) bool {
	for _, info := range all {
		if info.ID == id {
			return true
		}
	}
	return false
}

// agents returns the agents of a session, and whether a process runs it.
func agents(ctx context.Context, con *cli.Console, info swarm.Info) (all []actors.Status, running bool, err error) {
	s, running, err := con.Sessions().Open(info)
	if err != nil {
		return nil, false, err
	}
	defer s.Close()
	all, err = s.Agents(ctx)
	return all, running, err
}
