package definitions

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/actorswarm/swarm/internal/defcheck"
	"github.com/actorswarm/swarm/internal/defedit"
	"github.com/actorswarm/swarm/internal/node"
)

func newAgentsCheck(a *commands) *cobra.Command {
	flags, format := &agentsFlags{}, ""
	c := &cobra.Command{
		Use:   "check [PATH…]",
		Short: "Find what is wrong with agent definitions",
		Long: `Check reads files, and the Markdown files of folders; without a path every source
of the directory. Each complaint has its file and line, and each repair the line
as it should be; tools that do not exist here are listed. The exit status is 1 if
a definition cannot be loaded, or if no agent of it can start.`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			return a.checkAgents(flags, args, format == "json")
		},
	}
	flags.add(c)
	c.Flags().StringVar(&format, "format", "text", "text or json")
	return c
}

func (a *commands) checkAgents(flags *agentsFlags, paths []string, asJSON bool) error {
	report, short, err := a.lint(flags, paths)
	if err != nil {
		return err
	}
	if asJSON {
		err = a.PrintJSON(report)
	} else {
		err = a.Print(findings(report.Findings, short))
		a.Notef("%s, %s: %s, %s, %s", view.Plural(report.Files, "file"), view.Plural(report.Agents, "agent"),
			view.Plural(report.Errors, "error"), view.Plural(report.Warnings, "warning"), fmt.Sprintf("%d repaired", report.Repaired))
	}
	if err == nil && report.Errors > 0 {
		return &cli.ExitError{Code: cli.ExitFailed}
	}
	return err
}

// checks are what is checked beside the form of a definition, for a session in a directory.
func (a *commands) checks(dir string) defedit.Checks {
	c := defcheck.New(node.AllToolNames, func() []string {
		state, abs, err := a.Sessions().Directories(dir)
		if err != nil {
			return nil // no session starts there
		}
		home, _ := os.UserHomeDir() // without one there are no servers of the user
		return node.Config{Dir: abs, StateDir: state, Home: home, Getenv: a.Getenv}.ServerNames()
	})
	return defedit.Checks{Problems: c.Problems, Notes: c.Notes}
}

func (a *commands) lint(flags *agentsFlags, paths []string) (defedit.Report, func(string) string, error) {
	if len(paths) > 0 {
		report, err := defedit.Lint(paths, a.checks(flags.dir))
		return report, func(path string) string { return path }, err
	}
	all, err := a.catalog(flags.options(a))
	if err != nil {
		return defedit.Report{}, nil, err
	}
	return defedit.LintSet(all.Definitions(), a.checks(flags.dir)), all.short, nil
}
