package definitions

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/actorswarm/swarm/internal/term"
)

func newAgentsShow(a *commands) *cobra.Command {
	flags, format := &agentsFlags{}, ""
	c := &cobra.Command{
		Use:               "show NAME",
		Short:             "Show one agent definition with its prompt",
		ValidArgsFunction: a.completeDefinition,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.CheckFormat(format); err != nil {
				return err
			}
			name, err := oneName(args, "swarm agents show NAME")
			if err != nil {
				return err
			}
			all, err := a.catalog(flags.options(a))
			if err != nil {
				return err
			}
			e, err := all.loaded(name)
			if err != nil {
				return err
			}
			return a.showAgent(all, e, format == "json")
		},
	}
	flags.add(c)
	c.Flags().StringVar(&format, "format", "text", "text or json")
	return c
}

func (a *commands) showAgent(all *catalog, e defs.Entry, asJSON bool) error {
	if asJSON {
		r := recordOf(e)
		r.Prompt = e.Prompt()
		return a.PrintJSON(r)
	}
	var b strings.Builder
	scr := a.Screen()
	fmt.Fprintf(&b, "%s  %s, %s\n\n", scr.Paint(term.Clean(e.Name), e.ShownColor()), e.Source, term.Clean(all.short(e.Path)))
	for _, f := range e.Explain() {
		if f.Value == "" || f.Name == "name" || f.Name == "body" {
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n", f.Name, strings.TrimSpace(strings.TrimPrefix(view.Indent(term.CleanLines(f.Value)), "    ")))
	}
	for _, w := range warnings(e) {
		fmt.Fprintf(&b, "warning: %s\n", term.Clean(strings.Replace(w, e.Path, all.short(e.Path), 1)))
	}
	fmt.Fprintf(&b, "\n%s\n", term.CleanLines(e.Prompt()))
	return a.Print(b.String())
}
