package main

import (
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/actorswarm/swarm/internal/term"
	"github.com/spf13/cobra"
)

// completeFlags completes flags with a fixed set of values, and ids of sessions.
func (a *app) completeFlags(c *cobra.Command) {
	cli.CompleteFixed(c)
	for _, name := range []string{"resume", "session"} {
		cli.CompleteFlag(c, name, func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return a.completeSession(c, nil, "")
		})
	}
}

// completeSession completes the sessions of the directory, with their prompts.
func (a *app) completeSession(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const nothingElse = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	if len(args) > 0 {
		return nil, nothingElse
	}
	all, err := a.Sessions().List(cli.FlagValue(c, "dir"))
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var offers []string
	for _, info := range all {
		offers = append(offers, cobra.CompletionWithDesc(info.ID, term.Clean(info.Prompt)))
	}
	return offers, nothingElse
}

// completeAgent completes the agents of the session that the command selects.
func (a *app) completeAgent(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	info, err := a.Sessions().Choose(cli.FlagValue(c, "dir"), cli.FlagValue(c, "session"))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	agents, _, err := agents(c.Context(), &a.Console, info)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return names(view.AgentRows(agents)), cobra.ShellCompDirectiveNoFileComp
}

func names(rows []view.AgentRow) []string {
	var all []string
	for _, r := range rows {
		name := term.Clean(r.Name)
		if r.Role != "teammate" && r.Role != "lead" {
			name = string(r.ID) // the others are written to by their ids
		}
		all = append(all, cobra.CompletionWithDesc(name, r.State))
	}
	return all
}
