package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/spf13/cobra"
)

func newPs(a *app) *cobra.Command {
	var of sessionFlags
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
			if err := of.take(args, "swarm ps [ID]"); err != nil {
				return err
			}
			return a.ps(c.Context(), of.dir, of.session, format == "json")
		},
	}
	of.add(c, "all of the directory")
	c.Flags().StringVar(&format, "format", "text", "the `format`: text or json")
	return c
}

// psSession is a session as ps shows it.
type psSession struct {
	ID      string `json:"id"`
	Running bool   `json:"running"`
	// Starting: a process has it, but does not answer yet or any more.
	Starting bool      `json:"starting,omitempty"`
	Dir      string    `json:"dir"`
	Created  time.Time `json:"created"`
	Prompt   string    `json:"prompt,omitempty"`
	Agents   []psAgent `json:"agents,omitempty"`
}

func (a *app) ps(ctx context.Context, dir, id string, asJSON bool) error {
	if id != "" {
		info, err := a.find(dir, id)
		if err != nil {
			return err
		}
		return a.psOne(ctx, info, asJSON)
	}
	all, err := a.sessions(dir)
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
	return a.Print(a.sessionTable(list))
}

func (a *app) psOne(ctx context.Context, info swarm.Info, asJSON bool) error {
	agents, running, err := a.agents(ctx, info)
	if err != nil {
		return err
	}
	s := sessionRow(info, running)
	s.Agents = agentRows(agents)
	if asJSON {
		return a.PrintJSON(s)
	}
	return a.Print(a.tree(s.Agents, time.Now(), 0))
}

// psList returns the sessions; the only one that runs comes with its agents.
func (a *app) psList(ctx context.Context, all []swarm.Info) ([]psSession, error) {
	running := a.running(all)
	list := make([]psSession, 0, len(all))
	for _, info := range all {
		s := sessionRow(info, contains(running, info.ID))
		if s.Running && len(running) == 1 {
			agents, _, err := a.agents(ctx, info)
			if err != nil {
				return nil, err
			}
			s.Agents = agentRows(agents)
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

func sessionRow(info swarm.Info, running bool) psSession {
	return psSession{ID: info.ID, Running: running, Starting: !running && info.Open(), Dir: info.Dir, Created: info.Created, Prompt: info.Prompt}
}

// sessionTable writes one line per session, and under the only one that runs
// its agents.
func (a *app) sessionTable(list []psSession) string {
	var b strings.Builder
	scr := a.Screen()
	short, now := shortIDs(list), time.Now()
	for i, s := range list {
		state := "stopped"
		switch {
		case s.Running:
			state = "running"
		case s.Starting:
			state = "starting"
		}
		head := fmt.Sprintf("%-10s  %-8s %-6s  ", short[i], state, span(now.Sub(s.Created)))
		fmt.Fprintln(&b, head+term.Cut(term.Clean(firstOf(s.Prompt, "(no prompt yet)")), max(10, scr.Width()-len(head))))
		if len(s.Agents) > 0 {
			b.WriteString(indent(a.tree(s.Agents, now, inset)))
		}
	}
	return b.String()
}

// shortIDs returns the shortest beginnings, from 8 characters up, that tell the
// sessions apart; every command takes them for the whole.
func shortIDs(list []psSession) []string {
	n := 8
	for ; n < 64; n++ {
		seen := map[string]bool{}
		for _, s := range list {
			seen[s.ID[:min(n, len(s.ID))]] = true
		}
		if len(seen) == len(list) {
			break
		}
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = s.ID[:min(n, len(s.ID))]
	}
	return out
}

// inset is how far the agents stand to the right of their session.
const inset = 4

func indent(text string) string {
	by := strings.Repeat(" ", inset)
	return by + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+by) + "\n"
}

// agentRows leaves out the user, who is no agent.
func agentRows(all []actors.Status) []psAgent {
	var rows []psAgent
	for _, s := range all {
		if s.Life.Spec.Role != "user" {
			rows = append(rows, agentRow(s))
		}
	}
	return rows
}
