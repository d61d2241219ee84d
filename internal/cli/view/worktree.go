package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/term"
)

// Worktree formats a worktree: the agent first, details indented below.
func Worktree(w swarm.Worktree) string {
	state := w.State
	switch {
	case w.Removed:
		state = "removed"
	case w.Live:
		state = "in use"
	}
	parts := []string{fmt.Sprintf("%-24s %-8s %6s", w.Agent, state, duration(time.Since(w.Since))), "in " + cmp.Or(w.Path, "a place that is not known yet"), "made by a hook"}
	if w.Branch != "" {
		parts[2] = "on branch " + w.Branch
	}
	for _, why := range w.Why {
		parts = append(parts, "kept for "+why)
	}
	if w.Rescue != "" {
		parts = append(parts, "rescued in "+w.Rescue)
	}
	if w.Problem != "" {
		parts = append(parts, w.Problem)
	}
	for i := range parts {
		parts[i] = term.Clean(parts[i])
	}
	return strings.Join(parts, "\n  ")
}
