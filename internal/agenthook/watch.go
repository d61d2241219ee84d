package agenthook

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/hook"
)

// maxWatched bounds the paths that hooks watch.
const maxWatched = 1000

// Listens reports whether hooks of all agents listen to an event.
func (h *Hooks) Listens(event string) bool { return h.set(agent.Spec{}).Listens(event) }

// Watched returns the files at whose changes hooks of FileChanged run: those in a directory
// with the names of matchers, and those that hooks have named.
func (h *Hooks) Watched(dir string) (paths []string) {
	names := h.set(agent.Spec{}).WatchedNames()
	if len(names) == 0 && !h.Listens("FileChanged") {
		return nil
	}
	for _, name := range names {
		paths = append(paths, filepath.Join(dir, filepath.Base(name)))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return append(paths, h.watch...)
}

// setWatched takes over the paths that hooks of an event want to have watched.
func (h *Hooks) setWatched(event string, all []hook.Outcome) {
	if known, _ := hook.FindEvent(event); !known.Environ {
		return
	}
	var paths []string
	named := false
	for _, o := range all {
		var s struct {
			Paths []string `json:"watchPaths"`
		}
		if o.Err != nil || o.Output == nil || json.Unmarshal(o.Output.Specific, &s) != nil || s.Paths == nil {
			continue
		}
		named = true
		for _, p := range s.Paths {
			if filepath.IsAbs(p) && len(paths) < maxWatched && !slices.Contains(paths, p) {
				paths = append(paths, p)
			}
		}
	}
	if named {
		h.mu.Lock()
		h.watch = paths
		h.mu.Unlock()
	}
}
