package doctor

import (
	"context"
	"slices"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/actorswarm/swarm/internal/settings"
	"github.com/actorswarm/swarm/internal/trust"
)

// checkTrust reports whether what a directory would run or allow is trusted.
func (a *checker) checkTrust(_ context.Context, dir string) []finding {
	if _, abs, err := a.Sessions().Directories(dir); err == nil {
		dir = abs
	}
	sources, err := swarm.Options{Dir: dir, Getenv: a.Getenv}.Sources()
	if err != nil {
		return nil // the check of definitions reports it
	}
	state, err := a.Sessions().StateDir()
	if err != nil {
		return nil // the check of the state reports it
	}
	set, err := defs.Load(sources)
	if err != nil {
		return nil // the check of definitions reports it
	}
	items, err := settings.Items(sources, set)
	if err != nil {
		return []finding{findingf(warn, "trust", "what the directory would run or allow cannot be read: %v", err)}
	}
	store := trust.Open(state)
	open := slices.DeleteFunc(slices.Clone(items), store.Trusts)
	switch {
	case len(items) == 0:
		return []finding{findingf(ok, "trust", "%s runs and allows nothing that you would have to trust", dir)}
	case len(open) == 0:
		return []finding{findingf(ok, "trust", "%s is trusted with what it runs and allows (%s)", dir, view.Plural(len(items), "part"))}
	}
	return []finding{findingf(warn, "trust", "%s is not trusted: %d of %d parts that would run or allow something are not in force; see them with: swarm trust",
		dir, len(open), len(items))}
}
