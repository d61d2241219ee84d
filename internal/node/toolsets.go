package node

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/actorswarm/swarm/internal/nolink"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/tool"
	"github.com/actorswarm/swarm/tool/builtin"
)

// Toolsets holds the file and shell tools of all agents, in order to end their
// processes when the session closes. The zero value is ready; its methods may be called
// from any goroutine.
type Toolsets struct {
	mu   sync.Mutex
	next int                // guarded by mu
	sets map[int]agentTools // guarded by mu
}

// agentTools are the tools of one agent.
type agentTools struct {
	agent mailbox.AgentID
	tools []tool.Tool
}

// Add returns the function that ends the processes of the tools in set.
func (k *Toolsets) Add(agent mailbox.AgentID, set []tool.Tool) func() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sets == nil {
		k.sets = map[int]agentTools{}
	}
	id := k.next
	k.next++
	k.sets[id] = agentTools{agent, set}
	return func() error {
		k.mu.Lock()
		delete(k.sets, id)
		k.mu.Unlock()
		return builtin.Close(set)
	}
}

// Detach moves the commands that an agent waits for to the background, and returns
// their names there.
func (k *Toolsets) Detach(agent mailbox.AgentID) []string {
	k.mu.Lock()
	sets := slices.Collect(maps.Values(k.sets))
	k.mu.Unlock()
	var moved []string
	for _, set := range sets {
		if set.agent == agent {
			moved = append(moved, builtin.Detach(set.tools)...)
		}
	}
	return moved
}

// Close ends the processes of the tools of all agents.
func (k *Toolsets) Close() error {
	k.mu.Lock()
	sets := k.sets
	k.sets = nil
	k.mu.Unlock()
	var errs []error
	for _, set := range sets {
		errs = append(errs, builtin.Close(set.tools))
	}
	return errors.Join(errs...)
}

// ToolNames returns the names of all tools that an agent can have, besides those of
// package actors, in the order in which a model gets them.
func ToolNames() []string {
	var names []string
	for _, t := range builtin.New(builtin.Env{}) {
		names = append(names, t.Spec().Name)
	}
	return append(names, roster.ToolNames()...)
}

// ReadDir returns the names in a directory, at most limit of them, and none for what is
// no directory. It does not follow a link at the end of the path.
func ReadDir(path string, limit int) ([]fs.DirEntry, error) {
	d, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
	for _, none := range []error{fs.ErrNotExist, syscall.ENOTDIR, syscall.ELOOP} {
		if errors.Is(err, none) {
			return nil, nil
		}
	}
	if err != nil {
		return nil, err
	}
	defer d.Close() // nothing was written
	entries, err := d.ReadDir(limit)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}

// Resolve follows the symbolic links of a path, as nolink does. A path that cannot be
// followed leads to itself, where no file tool opens anything.
func Resolve(path string) string {
	real, err := nolink.Resolve(path)
	if err != nil {
		return path
	}
	return real
}
