package definitions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/actorswarm/swarm/internal/term"
)

func newAgentsList(a *commands) *cobra.Command {
	flags, format, source := &agentsFlags{}, "", ""
	c := &cobra.Command{
		Use:   "list",
		Short: "List agent definitions by source",
		Long: `List shows every definition that was found, grouped by source, the strongest
first: the active ones, those that another of the same name replaces, and those
that could not be loaded, with the reason.`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			if err := cli.NoMoreArgs(args, 0, "swarm agents list"); err != nil {
				return err
			}
			only, err := parseSource(source)
			if err != nil {
				return err
			}
			all, err := a.catalog(flags.options(a))
			if err != nil {
				return err
			}
			return a.listAgents(all, only, format == "json")
		},
	}
	flags.add(c)
	c.Flags().StringVar(&format, "format", "text", "text or json")
	c.Flags().StringVar(&source, "source", "", "only this source: "+strings.Join(sourceNames(), ", "))
	cli.CompleteFlag(c, "source", cobra.FixedCompletions(sourceNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// sources are all sources, the strongest first.
func sources() []defs.Source {
	return []defs.Source{defs.Managed, defs.Flag, defs.Local, defs.Project, defs.User, defs.Plugin, defs.BuiltIn}
}

func sourceNames() []string {
	var names []string
	for _, s := range sources() {
		names = append(names, s.String())
	}
	return names
}

// parseSource returns the sources that a flag selects.
func parseSource(name string) ([]defs.Source, error) {
	if name == "" {
		return sources(), nil
	}
	for _, s := range sources() {
		if strings.EqualFold(s.String(), name) || strings.EqualFold(strings.ReplaceAll(s.String(), "-", ""), name) {
			return []defs.Source{s}, nil
		}
	}
	return nil, cli.Usagef("unknown --source %q; use %s", name, strings.Join(sourceNames(), ", "))
}

// agentRecord is a definition in the JSON of list and show.
type agentRecord struct {
	Name        string   `json:"name"`
	Source      string   `json:"source"`
	Path        string   `json:"path"`
	Description string   `json:"description"`
	Tools       []string `json:"tools"` // null means all
	Disallowed  []string `json:"disallowedTools"`
	Model       string   `json:"model"`
	Color       string   `json:"color"`
	Status      string   `json:"status"`
	Warnings    []string `json:"warnings"`
	Error       string   `json:"error,omitempty"`
	By          string   `json:"shadowedBy,omitempty"`
	Prompt      string   `json:"prompt,omitempty"`
}

func recordOf(e defs.Entry) agentRecord {
	r := agentRecord{
		Name: e.Name, Source: e.Source.String(), Path: e.Path, Description: e.Description,
		Tools: e.Tools, Disallowed: e.DisallowedTools, Model: e.Model, Color: e.Color,
		Status: string(e.Status), Warnings: warnings(e), By: e.By,
	}
	if r.Disallowed == nil {
		r.Disallowed = []string{}
	}
	if e.Status == defs.StatusFailed {
		r.Error = failure(e)
	}
	return r
}

func (a *commands) listAgents(all *catalog, only []defs.Source, asJSON bool) error {
	entries := slices.DeleteFunc(slices.Clone(all.entries), func(e defs.Entry) bool { return !slices.Contains(only, e.Source) })
	slices.SortStableFunc(entries, bySource)
	for _, p := range all.misplaced() {
		if slices.Contains(only, p.Source) {
			a.Notef("%s", strings.Replace(p.String(), p.Path, all.short(p.Path), 1))
		}
	}
	if asJSON {
		records := []agentRecord{}
		for _, e := range entries {
			records = append(records, recordOf(e))
		}
		return a.PrintJSON(records)
	}
	if len(entries) == 0 {
		a.Notef("no agent is defined there; make one with: swarm agents new")
		return nil
	}
	return a.Print(a.agentTable(all, entries))
}

// misplaced returns warnings about files and folders that are no definition, such as a
// directory named x.md.
func (c *catalog) misplaced() []defs.Problem {
	seen := map[string]bool{}
	for _, e := range c.entries {
		for _, p := range e.Problems {
			seen[p.String()] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(c.Definitions().Problems), func(p defs.Problem) bool { return seen[p.String()] })
}

// agentTable writes one line per definition below the name of its source.
func (a *commands) agentTable(all *catalog, entries []defs.Entry) string {
	var b strings.Builder
	scr := a.Screen()
	wide := 12
	for _, e := range entries {
		wide = min(max(wide, term.Width(heading(e))), 32)
	}
	for i, e := range entries {
		if i == 0 || entries[i-1].Source != e.Source {
			fmt.Fprintf(&b, "%s%s\n", strings.Repeat("\n", min(i, 1)), e.Source)
		}
		name := term.Cut(term.Clean(heading(e)), wide)
		pad := strings.Repeat(" ", wide-term.Width(name)+2)
		if e.Status == defs.StatusActive {
			name = scr.Paint(name, e.ShownColor())
		}
		about := term.Clean(all.about(e))
		if e.Status != defs.StatusFailed { // a shortened reason would not help
			about = term.Cut(about, max(40, scr.Width()-wide-4))
		}
		fmt.Fprintf(&b, "  %s%s%s\n", name, pad, about)
	}
	return b.String()
}

// heading returns the name, or that of the file if it names none.
func heading(e defs.Entry) string { return cmp.Or(e.Name, stem(e.Path)) }

func (c *catalog) about(e defs.Entry) string {
	switch e.Status {
	case defs.StatusFailed:
		return "failed: " + strings.Replace(failure(e), e.Path, c.short(e.Path), 1)
	case defs.StatusShadowed:
		return fmt.Sprintf("shadowed by %s · %s", c.short(e.By), c.short(e.Path))
	}
	parts := []string{view.FirstLine(strings.ReplaceAll(e.Description, `\n`, "\n"))}
	if n := len(warnings(e)); n > 0 {
		parts = slices.Insert(parts, 0, view.Plural(n, "warning"))
	}
	return strings.Join(parts, " · ")
}
