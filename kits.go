package swarm

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/tool"
	"github.com/actorswarm/swarm/tool/builtin"
)

// builtins keeps the file and shell tools of all agents that have not ended, to
// end what they left running when the session closes.
type builtins struct {
	mu   sync.Mutex
	next int             // guarded by mu
	sets map[int]toolset // guarded by mu
}

// toolset is what one agent was given.
type toolset struct {
	agent mailbox.AgentID
	tools []tool.Tool
}

// keep returns the function that ends what the tools of set left running.
func (b *builtins) keep(agent mailbox.AgentID, set []tool.Tool) func() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sets == nil {
		b.sets = map[int]toolset{}
	}
	id := b.next
	b.next++
	b.sets[id] = toolset{agent, set}
	return func() error {
		b.mu.Lock()
		delete(b.sets, id)
		b.mu.Unlock()
		return builtin.Close(set)
	}
}

// detach lets the commands that an agent waits for go on in the background, and
// returns what they are called there.
func (b *builtins) detach(agent mailbox.AgentID) []string {
	b.mu.Lock()
	sets := slices.Collect(maps.Values(b.sets))
	b.mu.Unlock()
	var moved []string
	for _, set := range sets {
		if set.agent == agent {
			moved = append(moved, builtin.Detach(set.tools)...)
		}
	}
	return moved
}

func (b *builtins) close() error {
	b.mu.Lock()
	sets := b.sets
	b.sets = nil
	b.mu.Unlock()
	var errs []error
	for _, set := range sets {
		errs = append(errs, builtin.Close(set.tools))
	}
	return errors.Join(errs...)
}

// toolNames returns the names of all tools an agent can have, besides those of
// package actors, in the order in which a model sees them.
func toolNames() []string {
	var names []string
	for _, t := range builtin.New(builtin.Env{}) {
		names = append(names, t.Spec().Name)
	}
	return append(names, team.ToolNames()...)
}

// resolve follows symbolic links as far as the path exists.
func resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir, base := filepath.Split(filepath.Clean(path))
	if dir == path || base == "" {
		return path
	}
	return filepath.Join(resolve(filepath.Clean(dir)), base)
}
