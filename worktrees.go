package swarm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/actorswarm/swarm/internal/isolation"
	"github.com/actorswarm/swarm/internal/worktree"
)

// Worktree is a directory of its own that an agent of a session has or left: a
// git worktree, or what a hook made in its place.
type Worktree struct {
	Session string    `json:"session"`
	Agent   string    `json:"agent"`
	State   string    `json:"state"` // creating, leased, kept, removing
	Path    string    `json:"path"`
	Branch  string    `json:"branch"` // "" if a hook made it
	Since   time.Time `json:"since"`
	Live    bool      `json:"live"`              // a process holds it
	Rescue  string    `json:"rescue,omitempty"`  // commit that holds what was in it
	Problem string    `json:"problem,omitempty"` // what is wrong with it
	Removed bool      `json:"removed,omitempty"` // it is gone now
	Why     []string  `json:"why,omitempty"`     // what it is kept for
}

func (w *Worktree) fill(session string, e worktree.Entry) {
	*w = Worktree{
		Session: session, Agent: e.Agent, State: string(e.State), Path: e.Path, Branch: e.Branch,
		Since: e.Since, Live: e.Live, Rescue: e.Rescue, Problem: e.Problem,
	}
}

// Worktrees returns the worktrees of all sessions of dir, newest session first.
func Worktrees(ctx context.Context, stateDir, dir string) ([]Worktree, error) {
	var all []Worktree
	err := eachSession(ctx, stateDir, dir, func(id string, d *isolation.Directories, r *worktree.Repo) error {
		entries, err := d.List(ctx, r)
		for _, e := range entries {
			var w Worktree
			w.fill(id, e)
			all = append(all, w)
		}
		return err
	})
	return all, err
}

// RescueWorktree commits everything in the worktree of an agent to its rescue
// ref and returns the ref. The worktree stays as it is.
func RescueWorktree(ctx context.Context, stateDir, dir, agent string) (ref string, err error) {
	err = eachSession(ctx, stateDir, dir, func(_ string, d *isolation.Directories, r *worktree.Repo) error {
		got, err := d.Rescue(ctx, r, agent)
		ref = first(got, ref)
		return err
	})
	if err == nil && ref == "" {
		err = fmt.Errorf("no agent %q of a session of %s has a worktree; see: swarm worktrees list", agent, dir)
	}
	return ref, err
}

// PruneWorktrees removes the worktrees of dir's sessions that nobody holds and
// that hold nothing of their own; with rescue, also those whose content it has
// committed to a rescue ref first. What hooks made is given to the
// WorktreeRemove hooks if nothing in it has changed. What stays is returned with
// its reasons.
func PruneWorktrees(ctx context.Context, stateDir, dir string, rescue bool) ([]Worktree, error) {
	var all []Worktree
	err := eachSession(ctx, stateDir, dir, func(id string, d *isolation.Directories, r *worktree.Repo) error {
		pruned, err := d.Prune(ctx, r, rescue)
		for _, p := range pruned {
			var w Worktree
			w.fill(id, p.Entry)
			w.Removed, w.Rescue, w.Why = p.Removed, first(p.Ref, w.Rescue), p.Why
			all = append(all, w)
		}
		return err
	})
	return all, err
}

// eachSession calls see for every session of dir that has isolated agents, with the
// repository of dir; nil if it is in none.
func eachSession(ctx context.Context, stateDir, dir string, see func(id string, d *isolation.Directories, r *worktree.Repo) error) error {
	sessions, err := Sessions(stateDir, dir)
	if err != nil {
		return err
	}
	o := Options{Dir: dir, StateDir: stateDir}
	if err := o.settle(); err != nil {
		return err
	}
	repo, err := worktree.Open(ctx, dir, worktree.Options{})
	none := errors.Is(err, worktree.ErrNoRepository)
	switch {
	case none:
		repo = nil
	case err != nil:
		return err
	}
	for _, i := range sessions {
		d := o.isolation(i.ID, i.Path, i.Path, nil)
		switch {
		case d.HasHookDirs():
			none = false
		case repo == nil, !d.HasWorktrees():
			continue
		}
		if err := see(i.ID, d, repo); err != nil {
			return err
		}
	}
	if none {
		return fmt.Errorf("%s is not in a git repository and no hook has made a directory, so there are no worktrees", dir)
	}
	return nil
}
