package definitions

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/actorswarm/swarm/internal/defedit"
	"github.com/actorswarm/swarm/internal/term"
)

// commands are the subcommands of agents.
type commands struct{ *cli.Console }

// New returns the command agents with its subcommands.
func New(console *cli.Console) *cobra.Command {
	a := &commands{console}
	c := &cobra.Command{
		Use:   "agents",
		Short: "List, explain, check and edit agent definitions",
		Long: `Agents are defined in Markdown files: .claude/agents/*.md of the project and of
your home, plugins and settings; some are built in. Of several with one name the
one of the highest source is used.`,
		Example: `  swarm agents list
  swarm agents explain reviewer
  swarm agents check
  swarm agents new`,
	}
	c.AddCommand(
		newAgentsList(a), newAgentsShow(a), newAgentsExplain(a), newAgentsCheck(a),
		newAgentsNew(a), newAgentsEdit(a), newAgentsRemove(a), newAgentsFormat(a),
	)
	for _, sub := range c.Commands() {
		cli.CompleteFixed(sub)
	}
	return c
}

// agentsFlags select the definitions.
type agentsFlags struct {
	dir, agents         string
	addDirs, pluginDirs []string
}

func (f *agentsFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.dir, "dir", "", "the directory whose agents are meant (default: the working directory)")
	c.Flags().StringVar(&f.agents, "agents", "", "more definitions: JSON, or the path of a JSON file")
	c.Flags().StringArrayVar(&f.addDirs, "add-dir", nil, "a further directory whose .claude/agents is read")
	c.Flags().StringArrayVar(&f.pluginDirs, "plugin-dir", nil, "a plugin to load that no settings enable")
}

func (f *agentsFlags) options(a *commands) swarm.Options {
	return swarm.Options{Dir: f.dir, Agents: f.agents, AddDirs: f.addDirs, PluginDirs: f.pluginDirs, Getenv: a.Getenv}
}

// catalog holds all definitions, as one session would find them.
type catalog struct {
	*swarm.Rehearsal
	entries []defs.Entry
	dir     string
	home    string
}

func (a *commands) catalog(o swarm.Options) (*catalog, error) {
	r, err := swarm.Rehearse(o)
	if err != nil {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("find the home directory; set HOME: %w", err)
	}
	return &catalog{Rehearsal: r, entries: r.Definitions().Entries(), dir: r.Lead().Dir, home: home}, nil
}

// short returns a path as people write it.
func (c *catalog) short(path string) string {
	if rel := view.RelativePath(path, c.dir); rel != path {
		return rel
	}
	if rel, ok := strings.CutPrefix(path, c.home+string(filepath.Separator)); ok {
		return filepath.Join("~", rel)
	}
	return path
}

// find returns the active definition with a name, or else one that was not loaded, by its
// name or by the name of its file.
func (c *catalog) find(name string) (defs.Entry, error) {
	if d, ok := c.Definitions().Lookup(name); ok {
		for _, e := range c.entries {
			if e.Status == defs.StatusActive && e.Name == d.Name {
				return e, nil
			}
		}
	}
	for _, e := range c.entries {
		if e.Status == defs.StatusFailed && (e.Name == name || stem(e.Path) == name) {
			return e, nil
		}
	}
	for _, p := range c.misplaced() { // a file that is read as documentation
		if stem(p.Path) == name && strings.EqualFold(filepath.Ext(p.Path), ".md") {
			d := defs.Definition{Name: p.Agent, Source: p.Source, Path: p.Path}
			return defs.Entry{Definition: d, Status: defs.StatusFailed, Problems: []defs.Problem{p}}, nil
		}
	}
	return defs.Entry{}, fmt.Errorf("there is no agent %q; %s", name, c.known(name))
}

// loaded is find for commands that need a valid definition.
func (c *catalog) loaded(name string) (defs.Entry, error) {
	e, err := c.find(name)
	if err == nil && e.Status == defs.StatusFailed {
		return e, fmt.Errorf("agent %q is not loaded: %s; correct it with: swarm agents edit %s", name, failure(e), name)
	}
	return e, err
}

// known lists the names similar to an unknown one, or else all.
func (c *catalog) known(name string) string {
	names := c.Definitions().Names()
	near := agent.Suggest(name, names)
	if len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return "the agents are: " + strings.Join(names, ", ")
}

func stem(path string) string {
	return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
}

// failure returns why a definition was not loaded, with its place.
func failure(e defs.Entry) string {
	for _, p := range e.Problems {
		if p.Fatal {
			return p.String()
		}
	}
	if len(e.Problems) > 0 {
		return e.Problems[0].String()
	}
	return e.Path
}

// warnings returns the warnings about a definition that was loaded.
func warnings(e defs.Entry) []string {
	out := []string{}
	for _, p := range e.Problems {
		if !p.Fatal {
			out = append(out, p.String())
		}
	}
	return out
}

// oneName returns the only argument of a command.
func oneName(args []string, use string) (string, error) {
	if len(args) != 1 || args[0] == "" {
		return "", cli.Usagef("name one agent: %s", use)
	}
	return args[0], nil
}

// completeDefinition offers the names of agent types.
func (a *commands) completeDefinition(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, err := a.catalog(swarm.Options{Dir: cli.FlagValue(c, "dir"), Agents: cli.FlagValue(c, "agents"), Getenv: a.Getenv})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var offers []string
	for _, d := range all.Definitions().Active {
		offers = append(offers, cobra.CompletionWithDesc(term.Clean(d.Name), term.Clean(view.FirstLine(d.Description))))
	}
	return offers, cobra.ShellCompDirectiveNoFileComp
}

// findings prints the problems of definitions, one place per line.
func findings(all []defedit.Finding, short func(string) string) string {
	var b strings.Builder
	for _, f := range all {
		place := short(f.Path)
		if f.Line > 0 {
			place += fmt.Sprintf(":%d", f.Line)
		}
		fmt.Fprintf(&b, "%s: %s: %s\n", term.Clean(place), f.Severity, term.Clean(f.Text))
		if f.Corrected != "" {
			b.WriteString(view.Indent(term.CleanLines(f.Corrected)))
		}
	}
	return b.String()
}

// bySource sorts entries for output: the highest source first, then by name.
func bySource(a, b defs.Entry) int {
	return cmp.Or(cmp.Compare(b.Source, a.Source), cmp.Compare(strings.ToLower(heading(a)), strings.ToLower(heading(b))), cmp.Compare(a.Path, b.Path))
}
