package node

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/prompt"
	"github.com/actorswarm/swarm/internal/settings"
	"github.com/actorswarm/swarm/internal/trust"
)

// Definitions holds the agent types of a session, except for those that a rule denies,
// and the other texts of system prompts. It follows changes of the files after Start.
// Its methods may be called from any goroutine.
type Definitions struct {
	options DefinitionsOptions
	watcher *defs.Watcher
	shared  *prompt.Sources

	changed func(before, after *defs.Set) // set before the watcher runs
	failed  func(error)                   // likewise
}

// DefinitionsOptions configure LoadDefinitions.
type DefinitionsOptions struct {
	Sources        defs.Options
	Rules          *Rules // required
	NoInstructions bool   // leave the CLAUDE.md files out
	LeadPrompt     string // replaces the lead's prompt if it is not ""
	Shell          string // the user's shell
	// Trusts reports whether the user trusts hooks in a definition; nil trusts none.
	Trusts func(trust.Item) bool
}

// LoadDefinitions reads the agent types. Mistakes in a file are problems of the set,
// not errors.
func LoadDefinitions(o DefinitionsOptions) (*Definitions, error) {
	d := &Definitions{options: o, shared: prompt.NewSources(prompt.Options{
		Cwd: o.Sources.Cwd, Home: o.Sources.Home, ConfigDir: o.Sources.ConfigDir, ManagedDir: o.Sources.ManagedDir,
		NoInstructions: o.Sources.Simple || o.NoInstructions,
	})}
	var err error
	d.watcher, err = defs.Watch(o.Sources, defs.WatchOptions{
		Changed: func(before, after *defs.Set) { d.changed(before, after) },
		Failed:  func(err error) { d.failed(err) },
	})
	return d, err
}

// prepare starts to collect the texts concurrently.
func (d *Definitions) prepare(ctx context.Context) { d.shared.Start(ctx) }

// follow reports changes of the files until ctx ends or Stop.
func (d *Definitions) follow(ctx context.Context, changed func(before, after *defs.Set), failed func(error)) {
	d.changed, d.failed = changed, failed
	d.watcher.Start(ctx)
}

// Stop stops following changes. It may be called more than once, and before follow.
func (d *Definitions) Stop() {
	d.watcher.Stop()
	d.shared.Stop()
}

// Set returns the current agent types, without those that a rule such as Agent(type)
// denies.
func (d *Definitions) Set() *defs.Set { return d.options.Rules.AllowedTypes(d.watcher.Set()) }

// Problems returns the mistakes in definition files. Many definitions of which no agent can
// start are a note instead.
func (d *Definitions) Problems() []defs.Problem {
	all := d.watcher.Set().Problems
	if len(unusable(all)) <= maxUnusable {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(p defs.Problem) bool { return p.Unusable })
}

// maxUnusable bounds the definitions of which no agent can start that have a line each:
// public collections have many that are meant for other programs.
const maxUnusable = 3

// unusable returns the agents that cannot start.
func unusable(all []defs.Problem) (names []string) {
	for _, p := range all {
		if p.Unusable {
			names = append(names, p.Agent)
		}
	}
	return names
}

// manyUnusable names in one line the agents that Problems leaves out.
func (d *Definitions) manyUnusable() []string {
	names := unusable(d.watcher.Set().Problems)
	if len(names) <= maxUnusable {
		return nil
	}
	return []string{fmt.Sprintf("%d agents cannot start, as none of their tools exists here (%s, …); swarm agents check lists them",
		len(names), strings.Join(names[:maxUnusable], ", "))}
}

// Notes returns remarks about the texts, one line each.
func (d *Definitions) Notes() []string {
	return slices.Concat(d.manyUnusable(), d.untrustedHooks(), d.shared.Notes())
}

// instructions returns the CLAUDE.md files that are in the prompts.
func (d *Definitions) instructions() []prompt.File { return d.shared.Files() }

// projectText returns the text of the CLAUDE.md files that are in the prompts.
func (d *Definitions) projectText() string {
	all, _ := d.shared.Instructions()
	return all
}

// untrustedHooks names the definitions whose hooks do not run.
func (d *Definitions) untrustedHooks() (notes []string) {
	for _, def := range d.watcher.Set().All {
		item, needed := settings.DefinitionItem(def)
		if needed && (d.options.Trusts == nil || !d.options.Trusts(item)) {
			notes = append(notes, fmt.Sprintf("%s: the hooks of %s are not run, as the directory is not trusted; see them with: swarm trust", def.Path, def.Name))
		}
	}
	return notes
}

// System returns the system prompt of an agent as blocks in a fixed order: its role and
// how it works with others, its environment, and what package prompt adds.
func (d *Definitions) System(spec agent.Spec, def defs.Definition) []string {
	in := prompt.Input{Definition: def, Environment: d.environment(spec).String()}
	switch spec.Role {
	case agent.Lead:
		in.Base, in.Role = cmp.Or(d.options.LeadPrompt, prompt.Lead), prompt.RoleOfLead
	case agent.Teammate:
		in.Role = prompt.RoleOfTeammate(spec.Name)
	default:
		in.Role = prompt.RoleOfChild
	}
	return prompt.Blocks(prompt.Build(d.shared.Fill(in)))
}

// environment describes where the agent works.
func (d *Definitions) environment(spec agent.Spec) prompt.Environment {
	return prompt.Environment{
		Dir: spec.Dir, Platform: runtime.GOOS + "/" + runtime.GOARCH, Shell: d.options.Shell,
		Model: spec.Model, Date: spec.Born, Who: fmt.Sprintf("%s (id %s)", agent.DisplayName(spec), spec.ID),
	}
}
