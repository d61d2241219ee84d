package isolation

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/actorswarm/swarm/internal/worktree"
	"github.com/actorswarm/swarm/session"
)

// Sessions are the directories that isolated agents of several sessions have or left,
// whether the sessions run or not. All fields are required.
type Sessions struct {
	Dir string // where the agents of the sessions work
	All []session.Info
	Of  func(session.Info) *Directories
}

// List returns the worktrees of all sessions, in their order.
func (s Sessions) List(ctx context.Context) (all []session.Worktree, err error) {
	err = s.each(ctx, func(id string, d *Directories, r *worktree.Repo) error {
		entries, err := d.List(ctx, r)
		for _, e := range entries {
			all = append(all, describe(id, e))
		}
		return err
	})
	return all, err
}

// Rescue commits everything in the worktree of an agent to its rescue ref and returns the
// ref. The worktree stays as it is.
func (s Sessions) Rescue(ctx context.Context, agent string) (ref string, err error) {
	err = s.each(ctx, func(_ string, d *Directories, r *worktree.Repo) error {
		got, err := d.Rescue(ctx, r, agent)
		ref = cmp.Or(got, ref)
		return err
	})
	if err == nil && ref == "" {
		err = fmt.Errorf("no agent %q of a session of %s has a worktree; see: swarm worktrees list", agent, s.Dir)
	}
	return ref, err
}

// Prune is [Directories.Prune] for all sessions.
func (s Sessions) Prune(ctx context.Context, rescue bool) (all []session.Worktree, err error) {
	err = s.each(ctx, func(id string, d *Directories, r *worktree.Repo) error {
		pruned, err := d.Prune(ctx, r, rescue)
		for _, p := range pruned {
			w := describe(id, p.Entry)
			w.Removed, w.Rescue, w.Why = p.Removed, cmp.Or(p.Ref, w.Rescue), p.Why
			all = append(all, w)
		}
		return err
	})
	return all, err
}

func describe(id string, e worktree.Entry) session.Worktree {
	return session.Worktree{
		Session: id, Agent: e.Agent, State: string(e.State), Path: e.Path, Branch: e.Branch,
		Since: e.Since, Live: e.Live, Rescue: e.Rescue, Problem: e.Problem,
	}
}

// each calls f for every session that has isolated agents, with the repository of the
// directory; nil if it is in none.
func (s Sessions) each(ctx context.Context, f func(id string, d *Directories, r *worktree.Repo) error) error {
	repo, err := worktree.Open(ctx, s.Dir, worktree.Options{})
	none := errors.Is(err, worktree.ErrNoRepository)
	switch {
	case none:
		repo = nil
	case err != nil:
		return err
	}
	for _, i := range s.All {
		d := s.Of(i)
		switch {
		case d.HasHookDirs():
			none = false
		case repo == nil, !d.HasWorktrees():
			continue
		}
		if err := f(i.ID, d, repo); err != nil {
			return err
		}
	}
	if none {
		return fmt.Errorf("%s is not in a git repository and no hook has made a directory, so there are no worktrees", s.Dir)
	}
	return nil
}
