package builtin

import (
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/actorswarm/swarm/internal/sandbox"
)

// confinement makes the profiles that the commands of a set run under.
type confinement struct {
	place sandbox.Place

	mu      sync.Mutex
	inspect *sandbox.Profile // made when it is first needed; guarded by mu
}

func newConfinement(e Env) *confinement {
	p := sandbox.Place{
		Dirs: append([]string{e.Dir}, e.AddDirs...), Home: e.Home, Hidden: e.Hidden, Shown: slices.Clone(e.Shown), Getenv: e.Getenv,
	}
	// Commands read their settings in the home that their environment names.
	if home := homeOf(e.Getenv); home != "" && home != e.Home {
		p.Home, p.Hidden = home, append(slices.Clone(e.Hidden), sandbox.Secrets(e.Home)...)
	}
	if e.OutputDir != "" {
		p.Shown = append(p.Shown, e.OutputDir)
	}
	return &confinement{place: p}
}

func homeOf(getenv func(string) string) string {
	if getenv == nil {
		return ""
	}
	return getenv("HOME")
}

// profile returns that of a command: open, or inspect for one that only reads, where the
// machine can enforce it.
func (c *confinement) profile(readOnly bool) (sandbox.Profile, error) {
	if !readOnly || sandbox.Probe().Enforces(sandbox.Inspect) != nil {
		return c.place.Profile(sandbox.Open), nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inspect != nil {
		return *c.inspect, nil
	}
	temp, err := os.MkdirTemp("", "swarm-inspect-*")
	if err != nil {
		return sandbox.Profile{}, fmt.Errorf("make a temporary directory for commands: %w", err)
	}
	p := c.place.Profile(sandbox.Inspect)
	p.Temp = temp
	c.inspect = &p
	return p, nil
}

// close removes the temporary directory. No command may run any more.
func (c *confinement) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inspect == nil {
		return nil
	}
	temp := c.inspect.Temp
	c.inspect = nil
	return os.RemoveAll(temp)
}
