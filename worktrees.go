package swarm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

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

// worktreeRoot is where the git worktrees of a session are, madeRoot where it is
// recorded what hooks made.
func worktreeRoot(session string) string { return filepath.Join(session, "worktrees") }

func madeRoot(session string) string { return filepath.Join(session, "made") }

func (w *Worktree) fill(session string, e worktree.Entry) {
	*w = Worktree{
		Session: session, Agent: e.Agent, State: string(e.State), Path: e.Path, Branch: e.Branch,
		Since: e.Since, Live: e.Live, Rescue: e.Rescue, Problem: e.Problem,
	}
}

// Worktrees returns the worktrees of all sessions of dir, newest session first.
func Worktrees(ctx context.Context, stateDir, dir string) ([]Worktree, error) {
	var all []Worktree
	err := eachRoot(ctx, stateDir, dir, func(r roots) error {
		entries, err := r.list(ctx)
		for _, e := range entries {
			var w Worktree
			w.fill(r.session, e)
			all = append(all, w)
		}
		return err
	})
	return all, err
}

// RescueWorktree commits everything in the worktree of an agent to its rescue
// ref and returns the ref. The worktree stays as it is.
func RescueWorktree(ctx context.Context, stateDir, dir, agent string) (ref string, err error) {
	err = eachRoot(ctx, stateDir, dir, func(r roots) error {
		got, err := r.rescue(ctx, agent)
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
	err := eachRoot(ctx, stateDir, dir, func(r roots) error {
		pruned, err := r.prune(ctx, rescue)
		for _, p := range pruned {
			var w Worktree
			w.fill(r.session, p.Entry)
			w.Removed, w.Rescue, w.Why = p.Removed, first(p.Ref, w.Rescue), p.Why
			all = append(all, w)
		}
		return err
	})
	return all, err
}

// roots are the places where isolated agents of one session live.
type roots struct {
	session string
	git     string
	repo    *worktree.Repo // nil if the session has no git worktrees
	made    *worktree.Made
}

func (r roots) list(ctx context.Context) ([]worktree.Entry, error) {
	made, err := r.made.List()
	if err != nil || r.repo == nil {
		return made, err
	}
	entries, err := r.repo.List(ctx, r.git)
	return append(entries, made...), err
}

func (r roots) prune(ctx context.Context, rescue bool) ([]worktree.Pruned, error) {
	made, err := r.made.Prune(ctx)
	if err != nil || r.repo == nil {
		return made, err
	}
	pruned, err := r.repo.Prune(ctx, worktree.PruneOptions{Root: r.git, Rescue: rescue})
	return append(pruned, made...), err
}

// rescue returns "" if the session's agent has no worktree.
func (r roots) rescue(ctx context.Context, agent string) (ref string, err error) {
	made, err := r.made.List()
	for _, e := range made {
		if e.Agent == agent {
			return "", fmt.Errorf("the directory %s of agent %s was made by a hook, so there is no ref to rescue it to; copy what you need", e.Path, agent)
		}
	}
	if err != nil || r.repo == nil {
		return "", err
	}
	done, err := r.repo.Rescue(ctx, r.git, agent, worktree.RescueOptions{})
	if errors.Is(err, worktree.ErrNoLease) {
		return "", nil
	}
	return done.Ref, err
}

// eachRoot calls see for every session of dir that has isolated agents.
func eachRoot(ctx context.Context, stateDir, dir string, see func(roots) error) error {
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
	if err != nil && !none {
		return err
	}
	for _, i := range sessions {
		r := roots{session: i.ID, git: worktreeRoot(i.Path)}
		if isDir(r.git) {
			r.repo = repo
		}
		r.made = worktree.NewMade(madeRoot(i.Path), hookMaker{hooks: hooks{o, i.ID, i.Path}, dir: o.Dir}, worktree.Options{})
		if isDir(madeRoot(i.Path)) {
			none = false
		} else if r.repo == nil {
			continue
		}
		if err := see(r); err != nil {
			return err
		}
	}
	if none {
		return fmt.Errorf("%s is not in a git repository and no hook has made a directory, so there are no worktrees", dir)
	}
	return nil
}
