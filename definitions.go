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

func (o Options) sources() defs.Options { return o.config().Sources() }

// config returns what the options say of the agents.
func (o Options) config() node.Config {
	return node.Config{
		Dir: o.Dir, StateDir: o.StateDir, Home: o.Home, AddDirs: o.AddDirs, PluginDirs: o.PluginDirs,
		Getenv: o.Getenv, Logger: o.Logger, Model: o.Model, Mode: o.Mode, MaxTurns: o.MaxTurns, System: o.System, Agents: o.Agents,
		Allow: o.Allow, Deny: o.Deny, Budget: o.Budget, Policy: o.Policy, Window: o.Window, CompactWindow: o.compactWindow,
		FindModel: o.Models,
	}
}

// take is the other way round.
func (o *Options) take(c node.Config) {
	o.Dir, o.AddDirs, o.PluginDirs = c.Dir, c.AddDirs, c.PluginDirs
	o.Model, o.Mode, o.MaxTurns, o.System, o.Agents = c.Model, c.Mode, c.MaxTurns, c.System, c.Agents
	o.Allow, o.Deny, o.Budget, o.Policy, o.Window, o.compactWindow = c.Allow, c.Deny, c.Budget, c.Policy, c.Window, c.CompactWindow
}
