package isolation

import (
	"context"
	"errors"
	"fmt"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/worktree"
	"github.com/actorswarm/swarm/internal/worktree/hookdir"
)

// HasHookDirs reports whether hooks have made directories for agents of the session.
func (d *Directories) HasHookDirs() bool { return isDir(d.hookRecords()) }

// HasWorktrees reports whether agents of the session have had git worktrees.
func (d *Directories) HasWorktrees() bool { return isDir(d.worktrees()) }

// List returns the directories that agents of the session have or left. repo is the
// repository of the session's directory; nil if there is none.
func (d *Directories) List(ctx context.Context, repo *worktree.Repo) ([]worktree.Entry, error) {
	made, err := d.remains().List()
	if err != nil || repo == nil || !d.HasWorktrees() {
		return made, err
	}
	entries, err := repo.List(ctx, d.worktrees())
	return append(entries, made...), err
}

// Prune removes the directories that no process uses and that hold nothing of their own;
// with rescue, also the worktrees whose content it has committed to a rescue ref first.
// The result includes what stays, with the reasons.
func (d *Directories) Prune(ctx context.Context, repo *worktree.Repo, rescue bool) ([]worktree.Pruned, error) {
	made, err := d.remains().Prune(ctx)
	if err != nil || repo == nil || !d.HasWorktrees() {
		return made, err
	}
	pruned, err := repo.Prune(ctx, worktree.PruneOptions{Root: d.worktrees(), Rescue: rescue})
	return append(pruned, made...), err
}

// Rescue commits everything in the worktree of an agent to its rescue ref, which it
// returns; "" if the agent has no worktree.
func (d *Directories) Rescue(ctx context.Context, repo *worktree.Repo, agent string) (ref string, err error) {
	made, err := d.remains().List()
	for _, e := range made {
		if e.Agent == agent {
			return "", fmt.Errorf("the directory %s of agent %s was made by a hook, so there is no ref to rescue it to; copy what you need", e.Path, agent)
		}
	}
	if err != nil || repo == nil || !d.HasWorktrees() {
		return "", err
	}
	done, err := repo.Rescue(ctx, d.worktrees(), agent, worktree.RescueOptions{})
	if errors.Is(err, worktree.ErrNoLease) {
		return "", nil
	}
	return done.Ref, err
}

func (d *Directories) remains() *hookdir.Dirs { return d.hookDirs(agent.Spec{}, d.o.Dir) }
