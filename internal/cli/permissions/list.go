package permissions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/node"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/settings"
	"github.com/actorswarm/swarm/internal/term"
)

func newList(console *cli.Console) *cobra.Command {
	var s selection
	var format string
	c := &cobra.Command{
		Use:   "list",
		Short: "List the rules in force, and what is left out",
		Long: `List shows every permission rule in force in the order in which they are tried,
with the file and line it is from. Below stands what settings files would allow
and do not, and what to do about it.`,
		Example: `  swarm permissions list
  swarm permissions list --agent reviewer --format json`,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := cmp.Or(cli.CheckFormat(format), cli.NoMoreArgs(args, 0, "swarm permissions list")); err != nil {
				return err
			}
			o, err := s.load(console)
			if err != nil {
				return err
			}
			if format == "json" {
				return console.PrintJSON(o.listing())
			}
			return console.Print(o.listing().text())
		},
	}
	s.add(c)
	c.Flags().StringVar(&format, "format", "text", "the `format`: text or json")
	complete(c, console, &s)
	return c
}

// listing is what list prints.
type listing struct {
	Agent       string             `json:"agent"`
	Mode        settings.Placed    `json:"mode"`
	Rules       []node.Listed      `json:"rules"`
	Directories []settings.Placed  `json:"directories"`
	LeftOut     []settings.LeftOut `json:"leftOut"`
	Notes       []string           `json:"notes"`
}

func (o *subject) listing() listing {
	written := o.rules.Settings()
	l := listing{
		Agent: o.name(), Mode: o.mode, Rules: slices.Concat(o.ownRules(), o.rules.List()),
		LeftOut: append([]settings.LeftOut{}, written.LeftOut...), Notes: slices.Concat([]string{}, o.problems, o.rules.Notes(), written.Unused),
	}
	for _, dir := range o.policy.Dirs {
		placed := settings.Placed{Value: dir, From: "--add-dir"}
		if i := slices.IndexFunc(written.Dirs, func(p settings.Placed) bool { return p.Value == dir }); i >= 0 {
			placed = written.Dirs[i]
		} else if dir == o.spec.Dir {
			placed.From = "the working directory"
		}
		l.Directories = append(l.Directories, placed)
	}
	return l
}

// name returns the name of the agent for a person.
func (o *subject) name() string {
	if o.definition != nil {
		return o.definition.Name
	}
	return "lead"
}

// ownRules returns what the definition adds: the uses of tools that it limits the agent
// to, and the tools that it takes away.
func (o *subject) ownRules() (all []node.Listed) {
	if o.definition == nil {
		return nil
	}
	for _, rule := range o.definition.DisallowedTools {
		all = append(all, node.Listed{Kind: "deny", Rule: rule, From: o.line("disallowedTools")})
	}
	for _, limit := range o.spec.Only {
		for _, rule := range limit.Tools {
			all = append(all, node.Listed{Kind: "only", Rule: rule, From: cmp.Or(o.line("tools"), limit.From)})
		}
	}
	return all
}

// line returns where a field of the definition stands.
func (o *subject) line(field string) string {
	d := o.definition
	if n := d.LineOf(field); n > 0 {
		return fmt.Sprintf("%s:%d", d.Path, n)
	}
	return cmp.Or(d.Path, "the definition of "+d.Name)
}

// setAside says that a rule does not apply in the mode, if that is so.
func setAside(mode string, r node.Listed) string {
	rule, err := permission.ParseRule(r.Rule)
	if err != nil || r.Kind != permission.Allow.String() || !permission.Mode(mode).Judged() || !rule.SetAside() {
		return ""
	}
	return "  not in mode " + mode + ": it covers nearly anything"
}

func (l listing) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "mode %s (%s)\n", l.Mode.Value, term.Clean(l.Mode.From))
	if len(l.Rules) == 0 {
		b.WriteString("no rule is in force\n")
	}
	for _, r := range l.Rules {
		fmt.Fprintf(&b, "%-5s  %s  (%s)%s\n", r.Kind, term.Clean(r.Rule), term.Clean(r.From), setAside(l.Mode.Value, r))
	}
	for _, d := range l.Directories {
		fmt.Fprintf(&b, "directory  %s  (%s)\n", term.Clean(d.Value), term.Clean(d.From))
	}
	for _, left := range l.LeftOut {
		fmt.Fprintf(&b, "left out %s: %s  %s  (%s)\n", left.Why, left.Kind, term.Clean(left.Text), term.Clean(left.From))
	}
	for _, note := range l.Notes {
		if len(l.LeftOut) == 0 || !strings.Contains(note, ": these are left out ") {
			fmt.Fprintf(&b, "note: %s\n", term.Clean(note))
		}
	}
	return b.String()
}
