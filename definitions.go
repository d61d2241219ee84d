package swarm

import (
	"fmt"

	"github.com/actorswarm/swarm/agent"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/prompt"
)

// Sources returns where the definitions of a session with these options come
// from. What the options leave open is settled as Open settles it.
func (o Options) Sources() (defs.Options, error) {
	if err := o.settle(); err != nil {
		return defs.Options{}, err
	}
	return o.sources(), nil
}

func (o Options) sources() defs.Options {
	return defs.Options{
		Cwd: o.Dir, Home: o.Home, AddDirs: o.AddDirs, PluginDirs: o.PluginDirs, FlagJSON: o.Agents,
		ManagedDir: first(o.Getenv("SWARM_MANAGED_DIR"), defs.DefaultManagedDir()),
		Trusted:    defs.TrustedUnlessRefused(o.Home),
	}.WithEnv(o.Getenv)
}

// readDefinitions loads the agent types. They are followed from start on.
func (s *Session) readDefinitions() (err error) {
	from := s.opts.sources()
	s.shared = prompt.NewSources(prompt.Options{
		Cwd: from.Cwd, Home: from.Home, ConfigDir: from.ConfigDir, ManagedDir: from.ManagedDir,
		NoInstructions: from.Simple || s.opts.Getenv("CLAUDE_CODE_DISABLE_CLAUDE_MDS") == "1",
	})
	s.defs, err = defs.Watch(from, defs.WatchOptions{
		Changed: s.redefined,
		Failed:  func(err error) { s.warnLead(err.Error() + "; the definitions stay as they were") },
	})
	if err != nil {
		return &OptionError{err} // what is wrong in a file is a problem, not an error
	}
	return nil
}

// definitions returns the agent types as they are now, without those that a
// rule such as Agent(type) denies.
func (s *Session) definitions() *defs.Set {
	return s.rules.Without(s.defs.Set())
}

// redefined tells of agents whose definition is no longer what they run with,
// and of files that can no longer be read.
func (s *Session) redefined(before, after *defs.Set) {
	for _, c := range defs.Diff(before, after) {
		if c.Kind == "added" {
			continue
		}
		for _, a := range s.agents.Status() {
			if spec := a.Life.Spec; spec.Type == c.Name && !a.Life.Closed {
				s.bus.Publish(agent.Describe(spec), event.Warning{Text: fmt.Sprintf(
					"the definition of %s was %s in %s; %s goes on with the one it was started with", c.Name, c.Kind, c.Path, agent.DisplayName(spec))})
			}
		}
	}
	known := map[string]bool{}
	for _, p := range before.Failed() {
		known[p.String()] = true
	}
	for _, p := range after.Failed() {
		if !known[p.String()] {
			s.warnLead(p.String())
		}
	}
}

func (s *Session) warnLead(text string) {
	s.bus.Publish(event.Agent{ID: agent.LeadID, Name: agent.LeadName}, event.Warning{Text: text})
}
