package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/internal/worktree/process"
)

// Released is the result of a Release.
type Released struct {
	// Removed reports that the worktree and its branch are gone.
	Removed bool
	Path    string
	Branch  string
	// Why lists the reasons why it was kept.
	Why []string
}

// Release ends the lease. An untouched worktree is removed with its branch, unless the
// caller has reasons to keep it. Any other stays, without its lock, and Why lists what
// is in it. Call Release after the agent's last process has ended; a second call checks
// again. A worktree that cannot be examined is kept, which is not an error. Errors are
// a *SupersededError, a context that ended, or a record that cannot be written.
func (t *Tree) Release(ctx context.Context, keep ...string) (Released, error) {
	rel := Released{Path: t.Path, Branch: t.Branch}
	if t.gone() {
		rel.Removed = true
		return rel, nil
	}
	rec, err := t.record()
	if err != nil {
		return rel, fmt.Errorf("release the worktree of agent %s: %w", t.Agent, err)
	}
	rel.Why = slices.Concat(keep, t.repo.reasons(ctx, rec))
	err = t.repo.exclusively(ctx, func(g git) error {
		if rec, err = t.record(); err != nil {
			return err
		}
		if len(rel.Why) == 0 {
			rel.Why, err = t.repo.remove(ctx, g, rec, "")
		}
		rel.Removed = err == nil && len(rel.Why) == 0
		if rel.Removed || err != nil {
			return err
		}
		return t.repo.keep(ctx, g, rec, &rel.Why)
	})
	if err != nil {
		return rel, fmt.Errorf("release the worktree of agent %s: %w", t.Agent, err)
	}
	return rel, nil
}

// gone reports whether neither the record nor the directory is left.
func (t *Tree) gone() bool {
	_, tree := os.Lstat(t.Path)
	_, rec := os.Lstat(recordPath(filepath.Dir(t.Path), t.Agent))
	return errors.Is(tree, fs.ErrNotExist) && errors.Is(rec, fs.ErrNotExist)
}

// reasons lists why a worktree must stay.
func (r *Repo) reasons(ctx context.Context, rec *record) []string {
	c, err := r.changes(ctx, rec)
	if err != nil {
		return []string{err.Error()}
	}
	return c.Why()
}

// keep ends a lease and leaves the worktree in place.
func (r *Repo) keep(ctx context.Context, g git, rec *record, why *[]string) error {
	if admin, err := r.verify(rec); err == nil {
		if _, err := r.unlock(ctx, g, rec, admin); err != nil {
			*why = append(*why, err.Error())
		}
	}
	return rec.set(Kept)
}

// remove lets git remove a worktree that was found untouched or, with all that is in it,
// one whose files are in the commit rescued. why lists the reasons if it cannot. The
// lock on the metadata must be held.
func (r *Repo) remove(ctx context.Context, g git, rec *record, rescued string) (why []string, err error) {
	in, err := r.inside(rec)
	if err != nil {
		return []string{err.Error()}, nil
	}
	if pids := process.WorkingIn(rec.Path); len(pids) > 0 {
		return []string{fmt.Sprintf("processes %v work in it", pids)}, nil
	}
	foreign, err := r.unlock(ctx, g, rec, in.gitDir())
	if err != nil {
		return nil, err
	}
	if foreign != "" {
		return []string{"it is locked: " + foreign}, nil
	}
	if rec.Final = rescued; rescued == "" {
		if rec.Final, err = in.line(ctx, "rev-parse", "--verify", "HEAD^{commit}"); err != nil {
			return nil, err
		}
	}
	if rec.Tip, err = g.line(ctx, "for-each-ref", "--format=%(objectname)", rec.ref()); err != nil {
		return nil, err
	}
	rec.Holder = process.Self()
	if err := rec.set(Removing); err != nil {
		return nil, err
	}
	if err := r.removeFiles(ctx, g, rec, rescued != ""); err != nil {
		rec.Final, rec.Tip = "", ""
		return []string{err.Error()}, rec.set(Kept)
	}
	return nil, r.forget(ctx, g, rec, rec.Tip)
}

// removeFiles lets git remove the worktree. Git refuses if it finds changes.
func (r *Repo) removeFiles(ctx context.Context, g git, rec *record, force bool) error {
	if force {
		_, err := g.unfiltered().out(ctx, "worktree", "remove", "--force", "--", rec.Path)
		return err
	}
	_, err := g.unfiltered().out(ctx, "worktree", "remove", "--", rec.Path)
	var failed *GitError
	if errors.As(err, &failed) && strings.Contains(failed.Stderr, "containing submodules") {
		// No submodule is checked out: that would have been a change.
		_, err = g.unfiltered().out(ctx, "worktree", "remove", "--force", "--", rec.Path)
	}
	return err
}

// forget deletes the record, and the branch if it is still at tip and not checked out.
func (r *Repo) forget(ctx context.Context, g git, rec *record, tip string) error {
	now, err := g.line(ctx, "for-each-ref", "--format=%(objectname)", rec.ref())
	if err != nil {
		return err
	}
	trees, err := r.checkouts(ctx)
	if err != nil {
		return err
	}
	for _, t := range trees {
		if t.branch == rec.ref() {
			now = ""
		}
	}
	if now != "" && now == tip {
		if _, err := g.out(ctx, "update-ref", "-d", rec.ref(), tip); err != nil {
			return err
		}
	}
	return rec.remove()
}
