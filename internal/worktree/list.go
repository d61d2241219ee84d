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
	"time"
)

// Entry is one worktree under a root.
type Entry struct {
	Agent       string
	Incarnation uint32
	State       State
	Path        string
	Branch      string
	Base        string
	// Since is when it came into this state.
	Since time.Time
	// PID is the process that holds it, and Live reports whether that still runs.
	PID  int
	Live bool
	// Rescue is the commit on the agent's rescue ref, or "".
	Rescue string
	// Problem is what is wrong with it; "" if nothing is.
	Problem string
}

// List returns the worktrees of this repository under root, by path. Leftovers
// of processes that died more than Options.StaleAfter ago are cleaned up first:
// creations are undone, removals finished, locks removed.
func (r *Repo) List(ctx context.Context, root string) ([]Entry, error) {
	files, err := r.records(ctx, root)
	if err != nil {
		return nil, fmt.Errorf("list the worktrees under %s: %w", root, err)
	}
	var out []Entry
	for _, f := range files {
		e, ok, err := r.entry(ctx, f)
		if err != nil {
			return nil, fmt.Errorf("list the worktrees under %s: %w", root, err)
		}
		if ok {
			out = append(out, e)
		}
	}
	return out, nil
}

// records lists the record files under root, and drops temporary ones that a
// kill left.
func (r *Repo) records(ctx context.Context, root string) ([]string, error) {
	real, err := filepath.EvalSymlinks(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(real)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		path := filepath.Join(real, e.Name())
		switch fi, err := e.Info(); {
		case err != nil || !fi.Mode().IsRegular():
		case strings.HasSuffix(e.Name(), ".json"):
			out = append(out, path)
		case strings.HasSuffix(e.Name(), ".json.new") && time.Since(fi.ModTime()) > r.stale:
			if err := r.dropDraft(ctx, path); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// dropDraft removes an unfinished record. Records are written with the lock held.
func (r *Repo) dropDraft(ctx context.Context, path string) error {
	return r.exclusively(ctx, func(git) error {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// entry cleans up one worktree if that is due, and describes it. ok is false if it is
// gone or belongs to another repository.
func (r *Repo) entry(ctx context.Context, file string) (e Entry, ok bool, err error) {
	rec, left, err := r.sweep(ctx, file)
	if err != nil {
		if ctx.Err() != nil {
			return Entry{}, false, err
		}
		e = Entry{Path: strings.TrimSuffix(file, ".json"), Problem: err.Error()}
	}
	if rec == nil {
		return e, err != nil, nil
	}
	e = Entry{
		Agent: rec.Agent, Incarnation: rec.Incarnation, State: rec.State, Path: rec.Path, Branch: rec.Branch, Base: rec.Base,
		Since: rec.Since, PID: rec.Holder.PID, Live: rec.Holder.Alive(), Problem: left,
	}
	if _, broken := r.verify(rec); broken != nil && (rec.State == Leased || rec.State == Kept) {
		e.Problem = broken.Error()
	}
	if err != nil {
		e.Problem = err.Error()
	}
	e.Rescue, err = r.shared().line(ctx, "for-each-ref", "--format=%(objectname)", rescueRef(rec.Agent))
	return e, true, err
}

// sweep cleans up what a dead process left of one worktree. It returns the record
// afterwards, nil if this repository has none, and why something is left.
func (r *Repo) sweep(ctx context.Context, file string) (rec *record, left string, err error) {
	rec, err = readRecord(file)
	if err != nil || rec == nil || rec.Common != r.from.common {
		return nil, "", err
	}
	if rec.State == Kept || !rec.abandoned(r.stale) {
		return rec, "", nil
	}
	err = r.exclusively(ctx, func(g git) error {
		// It may have been cleaned up or adopted while we waited for the lock.
		rec, err = readRecord(file)
		if err != nil || rec == nil || rec.State == Kept || !rec.abandoned(r.stale) {
			return err
		}
		if rec.State != Leased {
			left, err = r.cleanUp(ctx, g, rec)
			return err
		}
		var why []string
		err := r.keep(ctx, g, rec, &why)
		left = strings.Join(why, "; ")
		return err
	})
	if err != nil {
		return rec, left, err
	}
	rec, err = readRecord(file)
	return rec, left, err
}
