package swarm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/actorswarm/swarm/internal/worktree"
)

// Worktree is a git worktree that an agent of a session has or left.
type Worktree struct {
	Session string    `json:"session"`
	Agent   string    `json:"agent"`
	State   string    `json:"state"` // creating, leased, kept, removing
	Path    string    `json:"path"`
	Branch  string    `json:"branch"`
	Since   time.Time `json:"since"`
	Live    bool      `json:"live"`              // a process holds it
	Rescue  string    `json:"rescue,omitempty"`  // commit that holds what was in it
	Problem string    `json:"problem,omitempty"` // what is wrong with it
	Removed bool      `json:"removed,omitempty"` // it is gone now
	Why     []string  `json:"why,omitempty"`     // what it is kept for
}

func worktreeRoot(session string) string { return filepath.Join(session, "worktrees") }

func (w *Worktree) fill(session string, e worktree.Entry) {
	*w = Worktree{
		Session: session, Agent: e.Agent, State: string(e.State), Path: e.Path, Branch: e.Branch,
		Since: e.Since, Live: e.Live, Rescue: e.Rescue, Problem: e.Problem,
	}
}

// Worktrees returns the worktrees of all sessions of dir, newest session first.
func Worktrees(ctx context.Context, stateDir, dir string) ([]Worktree, error) {
	var all []Worktree
	err := eachRoot(ctx, stateDir, dir, func(r *worktree.Repo, i Info) error {
		entries, err := r.List(ctx, worktreeRoot(i.Path))
		for _, e := range entries {
			var w Worktree
			w.fill(i.ID, e)
			all = append(all, w)
		}
		return err
	})
	return all, err
}

// RescueWorktree commits everything in the worktree of an agent to its rescue
// ref and returns the ref. The worktree stays as it is.
func RescueWorktree(ctx context.Context, stateDir, dir, agent string) (ref string, err error) {
	err = eachRoot(ctx, stateDir, dir, func(r *worktree.Repo, i Info) error {
		done, err := r.Rescue(ctx, worktreeRoot(i.Path), agent, worktree.RescueOptions{})
		if errors.Is(err, worktree.ErrNoLease) {
			return nil
		}
		ref = first(done.Ref, ref)
		return err
	})
	if err == nil && ref == "" {
		err = fmt.Errorf("no agent %q of a session of %s has a worktree; see: swarm worktrees list", agent, dir)
	}
	return ref, err
}

// PruneWorktrees removes the worktrees of dir's sessions that nobody holds and
// that hold nothing of their own; with rescue, also those whose content it has
// committed to a rescue ref first. What stays is returned with its reasons.
func PruneWorktrees(ctx context.Context, stateDir, dir string, rescue bool) ([]Worktree, error) {
	var all []Worktree
	err := eachRoot(ctx, stateDir, dir, func(r *worktree.Repo, i Info) error {
		pruned, err := r.Prune(ctx, worktree.PruneOptions{Root: worktreeRoot(i.Path), Rescue: rescue})
		for _, p := range pruned {
			var w Worktree
			w.fill(i.ID, p.Entry)
			w.Removed, w.Rescue, w.Why = p.Removed, first(p.Ref, w.Rescue), p.Why
			all = append(all, w)
		}
		return err
	})
	return all, err
}

// eachRoot calls see for every session of dir that has made worktrees.
func eachRoot(ctx context.Context, stateDir, dir string, see func(*worktree.Repo, Info) error) error {
	sessions, err := Sessions(stateDir, dir)
	if err != nil {
		return err
	}
	repo, err := worktree.Open(ctx, dir, worktree.Options{})
	if errors.Is(err, worktree.ErrNoRepository) {
		return fmt.Errorf("%s is not in a git repository, so there are no worktrees", dir)
	}
	if err != nil {
		return err
	}
	for _, i := range sessions {
		if !isDir(worktreeRoot(i.Path)) {
			continue
		}
		if err := see(repo, i); err != nil {
			return err
		}
	}
	return nil
}
