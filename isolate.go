package swarm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/worktree"
)

// leased is a directory of an isolated agent, whoever made it.
type leased interface {
	Release(ctx context.Context, keep ...string) (worktree.Released, error)
}

// grounds is where the directories of isolated agents are: below the session, also
// in the process of one of its agents.
func (s *Session) grounds() string {
	if n := s.opts.node; n != nil {
		return n.info.Path
	}
	return s.info.Path
}

// isolate gives an agent a directory of its own, or takes over the one that it
// has: a git worktree from its parent's HEAD, or what the WorktreeCreate hooks
// make.
func (s *Session) isolate(ctx context.Context, spec transcript.Spec, incarnation uint32) (*actors.Isolation, error) {
	tree, dir, err := s.adopt(ctx, spec, incarnation)
	if errors.Is(err, worktree.ErrNoLease) {
		tree, dir, err = s.lease(ctx, spec, incarnation)
	}
	if err != nil {
		return nil, err
	}
	return &actors.Isolation{Dir: dir, Release: func(ctx context.Context) (*transcript.Kept, error) {
		released, err := tree.Release(ctx, s.tenants(spec, dir)...)
		if err != nil || released.Removed {
			return nil, err
		}
		return &transcript.Kept{Path: released.Path, Branch: released.Branch, Why: released.Why}, nil
	}}, nil
}

// adopt takes over what the agent has. It wraps worktree.ErrNoLease if that is
// nothing.
func (s *Session) adopt(ctx context.Context, spec transcript.Spec, incarnation uint32) (leased, string, error) {
	made, err := s.made(spec, s.opts.Dir).Adopt(ctx, string(spec.ID), incarnation)
	if err == nil {
		return made, made.Path, nil
	}
	if !errors.Is(err, worktree.ErrNoLease) {
		return nil, "", err
	}
	root := worktreeRoot(s.grounds())
	repo, err := worktree.Open(ctx, first(worktree.LeasedFrom(root, string(spec.ID)), s.opts.Dir), worktree.Options{})
	if errors.Is(err, worktree.ErrNoRepository) {
		return nil, "", fmt.Errorf("%w: %w", worktree.ErrNoLease, err)
	}
	if err != nil {
		return nil, "", err
	}
	tree, err := repo.Adopt(ctx, worktree.AdoptOptions{Agent: string(spec.ID), Incarnation: incarnation, Root: root})
	if err != nil {
		return nil, "", err
	}
	return tree, tree.Path, nil
}

// lease makes a new directory. Before its birth spec.Dir is the parent's
// directory, whose HEAD counts; later that directory is gone and the session's
// counts.
func (s *Session) lease(ctx context.Context, spec transcript.Spec, incarnation uint32) (leased, string, error) {
	from, want := spec.Dir, ""
	if _, born := s.store.Get(spec.ID); born {
		want = spec.Dir
	}
	if !isDir(from) {
		from = s.opts.Dir
	}
	if set, _ := s.hooks().load(); set.Has(worktreeCreate, "") {
		off, err := s.offLimits(ctx, spec)
		if err != nil {
			return nil, "", err
		}
		made, err := s.made(spec, from).Lease(ctx, worktree.MadeOptions{Agent: string(spec.ID), Incarnation: incarnation, Want: want, Off: off})
		if err != nil {
			return nil, "", err
		}
		return made, made.Path, nil
	}
	repo, err := worktree.Open(ctx, from, worktree.Options{})
	if err != nil {
		return nil, "", err
	}
	tree, err := repo.Lease(ctx, worktree.LeaseOptions{
		Agent: string(spec.ID), Incarnation: incarnation, Root: worktreeRoot(s.grounds()),
	})
	if err != nil {
		return nil, "", err
	}
	return tree, tree.Path, nil
}

// made keeps the directories that hooks make when an agent is isolated.
func (s *Session) made(spec transcript.Spec, dir string) *worktree.Made {
	by := transcript.Spec{}
	if parent, ok := s.store.Get(spec.Parent); ok {
		by = parent.Spec()
	}
	return worktree.NewMade(madeRoot(s.grounds()), hookMaker{s.hooks(), by, dir}, worktree.Options{})
}

// tenants says which other agents that have not ended work in a directory.
func (s *Session) tenants(owner transcript.Spec, dir string) (why []string) {
	for _, a := range s.agents.Status() {
		if spec := a.Life.Spec; spec.ID != owner.ID && !a.Life.Closed && within(spec.Dir, dir) {
			why = append(why, fmt.Sprintf("agent %s works in it", actors.DisplayName(spec)))
		}
	}
	return why
}

func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// enclosure keeps the calls of an isolated agent, and of every agent below it,
// in its directory. If it cannot be found out what is off limits, all is.
func (s *Session) enclosure(spec transcript.Spec) *permission.Enclosure {
	for spec.Isolation == "" {
		parent, ok := s.store.Get(spec.Parent)
		if !ok {
			return nil
		}
		spec = parent.Spec()
	}
	off, err := s.offLimits(s.scope, spec)
	if err != nil {
		s.opts.Logger.Warn("what an isolated agent must not touch is not known, so it may touch nothing else", "agent", spec.ID, "error", err)
		off = []string{"/"}
	}
	return &permission.Enclosure{
		Tree: spec.Dir, Protected: off,
		Linked: func(path string) (string, error) { return worktree.Linked(s.scope, spec.Dir, off, path) },
	}
}

// offLimits lists the directories that an isolated agent must not write to: the
// checkouts and metadata of the session's repository and of every agent's above
// it, and the directories where isolated agents live.
func (s *Session) offLimits(ctx context.Context, spec transcript.Spec) ([]string, error) {
	off := []string{worktreeRoot(s.grounds()), madeRoot(s.grounds())}
	dirs := []string{s.opts.Dir}
	for at := spec.Parent; at != ""; {
		parent, ok := s.store.Get(at)
		if !ok {
			break
		}
		dirs = append(dirs, parent.Spec().Dir)
		at = parent.Spec().Parent
	}
	if from := worktree.LeasedFrom(worktreeRoot(s.grounds()), string(spec.ID)); from != "" {
		dirs = append(dirs, from)
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
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

// realPaths follows links, and leaves out what is not there.
func realPaths(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		real, err := filepath.EvalSymlinks(p)
		if errors.Is(err, fs.ErrNotExist) {
			real, err = p, nil // nothing can be a link that is not there
		}
		if err != nil {
			return nil, err
		}
		out = append(out, real)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
