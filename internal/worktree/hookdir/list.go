package hookdir

import (
	"context"
	"fmt"
	"time"

	"github.com/actorswarm/swarm/internal/worktree"
)

// List returns the directories that agents have or left, by agent.
func (d *Dirs) List() ([]worktree.Entry, error) {
	all, err := d.all()
	if err != nil {
		return nil, fmt.Errorf("list the directories that hooks made: %w", err)
	}
	var out []worktree.Entry
	for _, rec := range all {
		out = append(out, rec.entry())
	}
	return out, nil
}

func (rec *record) entry() worktree.Entry {
	e := worktree.Entry{
		Agent: rec.Agent, Incarnation: rec.Incarnation, State: rec.State, Path: rec.Path, Since: rec.Since,
		PID: rec.Holder.PID, Live: rec.Holder.Alive(),
	}
	switch {
	case rec.State == worktree.Creating && !e.Live:
		e.Problem = fmt.Sprintf("the process died while a hook made it; find and check what the hook makes for the name %q", worktree.DirName(rec.Agent))
	case rec.State != worktree.Creating:
		if err := rec.verify(); err != nil {
			e.Problem = err.Error()
		}
	}
	return e
}

// Prune releases the directories that no living process holds. It leaves those of dead
// processes alone until worktree.Options.StaleAfter has passed.
func (d *Dirs) Prune(ctx context.Context) ([]worktree.Pruned, error) {
	all, err := d.all()
	if err != nil {
		return nil, fmt.Errorf("prune the directories that hooks made: %w", err)
	}
	var out []worktree.Pruned
	for _, rec := range all {
		p, err := d.pruneOne(ctx, rec)
		if err != nil {
			return out, fmt.Errorf("prune the directories that hooks made: %w", err)
		}
		out = append(out, p)
	}
	return out, nil
}

func (d *Dirs) pruneOne(ctx context.Context, rec *record) (worktree.Pruned, error) {
	p := worktree.Pruned{Entry: rec.entry()}
	switch {
	case rec.Holder.Alive():
		p.Why = []string{fmt.Sprintf("process %d holds it for incarnation %d", p.PID, p.Incarnation)}
	case rec.State != worktree.Kept && time.Since(rec.Since) < d.stale:
		p.Why = []string{fmt.Sprintf("process %d, which held it, died less than %v ago", p.PID, d.stale)}
	case rec.State == worktree.Creating:
		p.Removed = true // only the record: no directory is known
		return p, d.forget(rec.Agent)
	default:
		rel, err := d.release(ctx, rec.Agent, rec.unchanged, nil)
		p.Removed, p.Why = rel.Removed, rel.Why
		return p, err
	}
	return p, nil
}

// unchanged returns an error if the directory was taken over since rec was read.
func (rec *record) unchanged(now *record) error {
	if now.Incarnation != rec.Incarnation || now.State != rec.State {
		return &worktree.SupersededError{Agent: rec.Agent, Have: rec.Incarnation, Want: now.Incarnation, Path: rec.Path}
	}
	return nil
}
