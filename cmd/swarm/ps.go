package main

import (
	"context"
	"os"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/spf13/cobra"
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
below it have used together. $? is money that nobody knows: see docs/models.md.`,
		ValidArgsFunction: a.completeSession,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			if err := of.Take(args, "swarm ps [ID]"); err != nil {
				return err
			}
			return a.ps(c.Context(), of.Dir, of.Session, format == "json")
		},
	}
	of.Add(c, "all of the directory")
	c.Flags().StringVar(&format, "format", "text", "the `format`: text or json")
	return c
}

func (a *app) ps(ctx context.Context, dir, id string, asJSON bool) error {
	if id != "" {
		info, err := a.Sessions().Find(dir, id)
		if err != nil {
			return err
		}
		return a.psOne(ctx, info, asJSON)
	}
	all, err := a.Sessions().List(dir)
	if err != nil {
		return err
	}
	list, err := a.psList(ctx, all)
	switch {
	case err != nil:
		return err
	case asJSON:
		return a.PrintJSON(list)
	case len(list) == 0:
		if _, err := os.Stat(dir); dir != "" && err != nil {
			return cli.Usagef("--dir: %v", err)
		}
		a.Notef("no session has been started here yet; start one with: swarm run PROMPT")
		return nil
	}
	return a.Print(view.SessionTable(a.Screen(), list, time.Now()))
}

func (a *app) psOne(ctx context.Context, info swarm.Info, asJSON bool) error {
	agents, running, err := a.agents(ctx, info)
	if err != nil {
		return err
	}
	s := view.NewSessionRow(info, running)
	s.Agents = view.AgentRows(agents)
	if asJSON {
		return a.PrintJSON(s)
	}
	return a.Print(view.Tree(a.Screen(), s.Agents, time.Now(), 0))
}

// psList returns the sessions; the only one that runs comes with its agents.
func (a *app) psList(ctx context.Context, all []swarm.Info) ([]view.SessionRow, error) {
	running := a.Sessions().Running(all)
	list := make([]view.SessionRow, 0, len(all))
	for _, info := range all {
		s := view.NewSessionRow(info, contains(running, info.ID))
		if s.Running && len(running) == 1 {
			agents, _, err := a.agents(ctx, info)
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
func (a *app) agents(ctx context.Context, info swarm.Info) (all []actors.Status, running bool, err error) {
	s, running, err := a.Sessions().Open(info)
	if err != nil {
		return nil, false, err
	}
	defer s.Close()
	all, err = s.Agents(ctx)
	return all, running, err
}
