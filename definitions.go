package swarm

import (
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/node"
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

// readDefinitions loads the agent types.
func (s *Session) readDefinitions() (err error) {
	s.defs, err = node.LoadDefinitions(node.DefinitionsOptions{
		Sources: s.opts.sources(), Rules: s.rules, LeadPrompt: s.opts.System, Shell: s.opts.Getenv("SHELL"),
		NoInstructions: s.opts.Getenv("CLAUDE_CODE_DISABLE_CLAUDE_MDS") == "1",
	})
	if err != nil {
		return &OptionError{err}
	}
	return nil
}
