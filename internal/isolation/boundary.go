package isolation

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/worktree"
)

// Boundary returns what an isolated agent, and every agent below it, may write to: its own
// directory. It returns nil for an agent that is not isolated. If it cannot be determined
// what is off limits, everything is. The boundary can be used until ctx ends.
func (d *Directories) Boundary(ctx context.Context, spec agent.Spec) *permission.Boundary {
	spec, ok := d.isolated(spec)
	if !ok {
		return nil
	}
	off, err := d.offLimits(ctx, spec)
	if err != nil {
		d.o.Logger.Warn("could not determine what is off limits to an isolated agent, so it may write to its own directory only", "agent", spec.ID, "error", err)
		off = []string{"/"}
	}
	return &permission.Boundary{
		Worktree: spec.Dir, Protected: off,
		HardLinkTarget: func(path string) (string, error) { return worktree.Linked(ctx, spec.Dir, off, path) },
	}
}

// isolated returns the agent in whose directory an agent works, itself or one above.
func (d *Directories) isolated(spec agent.Spec) (agent.Spec, bool) {
	for spec.Isolation == "" {
		parent, ok := d.parentOf(spec)
		if !ok {
			return agent.Spec{}, false
		}
		spec = parent
	}
	return spec, true
}

// Bounds returns what commands of an isolated agent, and of every agent below it, may not
// change, and what below it they may: the agent's directory, and what its commits change.
// Both are nil for an agent that is not isolated.
func (d *Directories) Bounds(ctx context.Context, spec agent.Spec) (fixed, free []string, err error) {
	spec, ok := d.isolated(spec)
	if !ok {
		return nil, nil, nil
	}
	if fixed, err = d.offLimits(ctx, spec); err != nil {
		return nil, nil, err
	}
	free = []string{spec.Dir}
	for _, dir := range d.dirsAbove(spec) {
		if repo, err := worktree.Open(ctx, dir, worktree.Options{}); err == nil {
			free = append(free, repo.Commits(spec.Dir)...)
		}
	}
	return append(fixed, filepath.Join(spec.Dir, ".git")), free, nil
}

// offLimits lists the directories that an isolated agent must not write to: the
// checkouts and metadata of the session's repository and of every agent's above
// it, and the directories where isolated agents live.
func (d *Directories) offLimits(ctx context.Context, spec agent.Spec) ([]string, error) {
	off := []string{d.worktrees(), d.hookRecords()}
	for _, dir := range d.dirsAbove(spec) {
		repo, err := worktree.Open(ctx, dir, worktree.Options{})
		switch {
		case errors.Is(err, worktree.ErrNoRepository):
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		default:
			off = append(off, repo.Own()...)
		}
		off = append(off, dir)
	}
	return realPaths(off)
}

// dirsAbove returns where the session works, and every agent above one.
func (d *Directories) dirsAbove(spec agent.Spec) []string {
	dirs := []string{d.o.Dir}
	if from := worktree.LeasedFrom(d.worktrees(), string(spec.ID)); from != "" {
		dirs = append(dirs, from)
	}
	for parent, ok := d.parentOf(spec); ok; parent, ok = d.parentOf(parent) {
		dirs = append(dirs, parent.Dir)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// realPaths follows links. What is not there stays as it is: it cannot be a link.
func realPaths(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		real, err := filepath.EvalSymlinks(p)
		if errors.Is(err, fs.ErrNotExist) {
			real, err = p, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, real)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
