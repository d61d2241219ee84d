package swarm

import (
	"errors"
	"path/filepath"
	"sync"

	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/tool"
	"github.com/actorswarm/swarm/tool/builtin"
)

// builtins keeps the file and shell tools of all agents that have not ended, to
// end what they left running when the session closes.
type builtins struct {
	mu   sync.Mutex
	next int                 // guarded by mu
	sets map[int][]tool.Tool // guarded by mu
}

// keep returns the function that ends what the tools of set left running.
func (b *builtins) keep(set []tool.Tool) func() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sets == nil {
		b.sets = map[int][]tool.Tool{}
	}
	id := b.next
	b.next++
	b.sets[id] = set
	return func() error {
		b.mu.Lock()
		delete(b.sets, id)
		b.mu.Unlock()
		return builtin.Close(set)
	}
}

func (b *builtins) close() error {
	b.mu.Lock()
	sets := b.sets
	b.sets = nil
	b.mu.Unlock()
	var errs []error
	for _, set := range sets {
		errs = append(errs, builtin.Close(set))
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
