package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// PruneOptions select the worktrees that may be removed.
type PruneOptions struct {
	Root string
	// Agents limits Prune to the worktrees of these agents; empty means all.
	Agents []string
	// Rescue first commits what is in a worktree, including ignored files, to the
	// agent's rescue ref, so that the worktree can be removed.
	Rescue bool
}

// Pruned is the result for one worktree.
type Pruned struct {
	Entry
	Removed bool
	// Ref is the rescue ref that holds what was in it; "" if it held nothing of its own.
	Ref string
	// Why lists the reasons why it is still there.
	Why []string
}

// Prune removes the worktrees that no living process holds and that are
// untouched, or whose every byte the agent's rescue ref holds. Those of dead
// processes are left alone until Options.StaleAfter has passed. What stays is
// returned with its reasons.
func (r *Repo) Prune(ctx context.Context, o PruneOptions) ([]Pruned, error) {
	files, err := r.records(ctx, o.Root)
	if err != nil {
		return nil, fmt.Errorf("prune the worktrees under %s: %w", o.Root, err)
	}
	var out []Pruned
	for _, f := range files {
		before, err := readRecord(f)
		if err == nil && (before == nil || before.Common != r.from.common) {
			continue
		}
		if err == nil && len(o.Agents) > 0 && !slices.Contains(o.Agents, before.Agent) {
			continue
		}
		p, err := r.pruneOne(ctx, f, before, o)
		if err != nil {
			return out, fmt.Errorf("prune the worktrees under %s: %w", o.Root, err)
		}
		out = append(out, p)
	}
	return out, nil
}

func (r *Repo) pruneOne(ctx context.Context, file string, before *record, o PruneOptions) (p Pruned, err error) {
	e, ok, err := r.entry(ctx, file)
	switch {
	case err != nil:
		return p, err
	case !ok && before != nil: // cleaned up, or removed by another process
		return Pruned{Entry: Entry{Agent: before.Agent, Path: before.Path, Branch: before.Branch}, Removed: true}, nil
	case e.State == Kept && missing(e.Path):
		return r.pruneMissing(ctx, file, e)
	case e.Problem != "":
		return Pruned{Entry: e, Why: []string{e.Problem}}, nil
	case e.Live:
		return Pruned{Entry: e, Why: []string{fmt.Sprintf("process %d holds it for incarnation %d", e.PID, e.Incarnation)}}, nil
	case e.State != Kept:
		return Pruned{Entry: e, Why: []string{fmt.Sprintf("process %d, which held it, died less than %v ago", e.PID, r.stale)}}, nil
	}
	p.Entry = e
	rec, err := readRecord(file)
	if err != nil || rec == nil {
		return p, err
	}
	p.Why = r.reasons(ctx, rec)
	if err := r.prune(ctx, rec, o, &p); err != nil {
		if ctx.Err() != nil {
			return p, err
		}
		p.Why = append(p.Why, err.Error())
	}
	return p, nil
}

// prune removes one worktree that no process holds. It compares rescued content again
// with the lock held, since files may have changed meanwhile.
func (r *Repo) prune(ctx context.Context, rec *record, o PruneOptions, p *Pruned) error {
	touched := len(p.Why) > 0
	if touched && o.Rescue {
		if _, err := r.rescue(ctx, rec, RescueOptions{Ignored: true}); err != nil {
			return err
		}
	}
	return r.exclusively(ctx, func(g git) error {
		now, err := readRecord(recordOf(rec))
		if err != nil || now == nil || now.State != Kept || now.Incarnation != rec.Incarnation {
			return err // it was adopted or removed meanwhile
		}
		final := ""
		if touched {
			why, commit, err := r.rescued(ctx, g, now)
			if err != nil || commit == "" {
				p.Why = append(p.Why, why...)
				return err
			}
			final, p.Ref = commit, rescueRef(now.Agent)
		}
		why, err := r.remove(ctx, g, now, final)
		p.Why, p.Removed = why, err == nil && len(why) == 0
		return err
	})
}

// rescued returns the commit on the rescue ref if it holds the worktree to the byte.
func (r *Repo) rescued(ctx context.Context, g git, rec *record) (why []string, commit string, err error) {
	s, err := r.snapshot(ctx, rec, true)
	if err != nil {
		return nil, "", err
	}
	if err := (Rescued{Nested: s.nested}).complete(); err != nil {
		return []string{err.Error()}, "", nil
	}
	if in, err := r.inside(rec); err != nil || hasSubmodules(in.gitDir()) {
		return []string{"the repositories of its submodules would be deleted with it"}, "", err
	}
	commit, err = r.holds(ctx, g, rec, s)
	return nil, commit, err
}

// pruneMissing removes a worktree whose directory was deleted, unless its
// metadata holds what nothing else does.
func (r *Repo) pruneMissing(ctx context.Context, file string, e Entry) (Pruned, error) {
	p := Pruned{Entry: e}
	err := r.exclusively(ctx, func(g git) error {
		rec, err := readRecord(file)
		if err != nil || rec == nil || rec.State != Kept || !missing(rec.Path) {
			return err
		}
		admin, whole, err := r.metadata(rec)
		if err != nil {
			return err
		}
		in := r.shared()
		if whole {
			in = in.with("GIT_DIR="+admin, "GIT_COMMON_DIR="+rec.Common)
		}
		if p.Why, err = onlyThere(ctx, in, rec, whole); err != nil || len(p.Why) > 0 {
			return err
		}
		if whole {
			if _, err := g.unfiltered().out(ctx, "worktree", "remove", "--", rec.Path); err != nil {
				return err
			}
		}
		p.Removed = true
		tip, err := g.line(ctx, "for-each-ref", "--format=%(objectname)", rec.ref())
		if err != nil {
			return err
		}
		return r.forget(ctx, g, rec, tip)
	})
	if err != nil && ctx.Err() == nil {
		p.Why, p.Removed, err = append(p.Why, err.Error()), false, nil
	}
	return p, err
}

// onlyThere lists what the metadata of a worktree without files holds.
func onlyThere(ctx context.Context, g git, rec *record, whole bool) ([]string, error) {
	var c Changes
	found, err := tips(ctx, g, rec)
	if err != nil {
		return nil, err
	}
	if c.Commits, err = unreferenced(ctx, g, rec, found); err != nil {
		return nil, err
	}
	if whole {
		if c.Modified, err = g.list(ctx, "diff-index", "--cached", "--name-only", "-z", "HEAD"); err != nil {
			return nil, err
		}
	}
	return c.Why(), nil
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
