package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/actorswarm/swarm/internal/worktree/filelock"
)

// settle brings what a dead process left half done to its end: a creation is
// undone, a removal finished. left says why it could not be. The turn must be
// held and the record's holder be dead.
func (r *Repo) settle(ctx context.Context, g git, rec *record) (left string, err error) {
	switch rec.State {
	case Creating:
		return r.discard(ctx, g, rec)
	case Removing:
		return r.finish(ctx, g, rec)
	}
	return "", nil
}

// discard undoes a creation. No agent has worked in the worktree; still, files
// that git did not put there keep it.
func (r *Repo) discard(ctx context.Context, g git, rec *record) (left string, err error) {
	admin, whole, err := r.metadata(rec)
	if err != nil {
		return "", err
	}
	switch {
	case admin == "":
	case !whole:
		err = removeFragment(admin)
	default:
		left, err = r.discardWhole(ctx, g, rec, admin)
	}
	if left != "" || err != nil {
		return left, err
	}
	// Only an empty directory goes; anything else is somebody's.
	if err := os.Remove(rec.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("%s holds files that git did not put there", rec.Path), nil
	}
	return "", r.forget(ctx, g, rec, rec.Base)
}

func (r *Repo) discardWhole(ctx context.Context, g git, rec *record, admin string) (left string, err error) {
	lock, err := filelock.Try(fillLock(admin))
	if err != nil {
		return "", err
	}
	if lock == nil {
		return "git is still filling it", nil
	}
	defer func() { err = errors.Join(err, filelock.Unlock(lock)) }()
	if left, err := r.mend(rec, admin); left != "" || err != nil {
		return left, err
	}
	if missing(rec.Path) {
		return "", r.removeHalf(ctx, g, rec)
	}
	strange, err := r.strangers(ctx, rec, rec.Base, func(string) bool { return true })
	if err != nil {
		return "", err
	}
	if len(strange) > 0 {
		return fmt.Sprintf("%s holds files that git did not put there (%s)", rec.Path, sample(strange)), nil
	}
	return "", r.removeHalf(ctx, g, rec)
}

// finish completes a removal: whatever is still there must be in the commit
// that was found to hold it all.
func (r *Repo) finish(ctx context.Context, g git, rec *record) (left string, err error) {
	admin, whole, err := r.metadata(rec)
	if err != nil {
		return "", err
	}
	there := !missing(rec.Path)
	switch {
	case admin == "" && there:
		return "git has forgotten it, but its directory is there", nil
	case admin == "":
		return "", r.forget(ctx, g, rec, rec.Tip)
	case !whole && !there:
		return "", errors.Join(removeFragment(admin), r.forget(ctx, g, rec, rec.Tip))
	}
	if left, err := r.mend(rec, admin); left != "" || err != nil {
		return left, err
	}
	if there {
		strange, err := r.strangers(ctx, rec, rec.Final, func(status string) bool { return status == "D" })
		if err != nil {
			return "", err
		}
		if len(strange) > 0 {
			rec.Final, rec.Tip = "", ""
			return fmt.Sprintf("%s was changed while it was removed (%s)", rec.Path, sample(strange)), rec.set(Kept)
		}
	}
	if err := r.removeHalf(ctx, g, rec); err != nil {
		return "", err
	}
	return "", r.forget(ctx, g, rec, rec.Tip)
}

// removeHalf lets git remove a worktree that is known to hold nothing of value.
func (r *Repo) removeHalf(ctx context.Context, g git, rec *record) error {
	_, err := g.out(ctx, "worktree", "remove", "--force", "--force", "--", rec.Path)
	return err
}

// metadata finds git's directory for a worktree, by what points back at it or
// by our lock. whole is set if git knows it as a worktree.
func (r *Repo) metadata(rec *record) (admin string, whole bool, err error) {
	dir := filepath.Join(rec.Common, "worktrees")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", false, fmt.Errorf("look for the metadata of %s: %w", rec.Path, err)
	}
	for _, e := range entries {
		admin := filepath.Join(dir, e.Name())
		back, errBack := firstLine(filepath.Join(admin, "gitdir"))
		lock, errLock := firstLine(filepath.Join(admin, "locked"))
		points := errBack == nil && back == filepath.Join(rec.Path, ".git")
		if e.IsDir() && (points || errBack != nil && errLock == nil && lock == rec.Lock) {
			return admin, points && hasAll(admin, "commondir", "HEAD"), nil
		}
	}
	return "", false, nil
}

func hasAll(dir string, names ...string) bool {
	for _, n := range names {
		if fi, err := os.Lstat(filepath.Join(dir, n)); err != nil || fi.Size() == 0 {
			return false
		}
	}
	return true
}

// mend gives a half-removed worktree its .git file back, without which git does
// not take it for a worktree, and makes sure that the lock on it is ours.
func (r *Repo) mend(rec *record, admin string) (left string, err error) {
	if lock, err := firstLine(filepath.Join(admin, "locked")); err == nil && lock != rec.Lock {
		return "somebody locked it: " + lock, nil
	}
	entry := filepath.Join(rec.Path, ".git")
	fi, err := os.Lstat(rec.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil || !fi.IsDir() {
		return "", errors.Join(err, odd(rec.Path, "the worktree is no directory"))
	}
	f, err := os.OpenFile(entry, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		_, err = r.verify(rec)
		return "", err
	}
	if err != nil {
		return "", err
	}
	_, err = f.WriteString("gitdir: " + admin + "\n")
	return "", errors.Join(err, f.Close())
}

// strangers lists what a worktree holds besides the files of a commit, unless
// expected says that git's own unfinished work explains it.
func (r *Repo) strangers(ctx context.Context, rec *record, commit string, expected func(status string) bool) (out []string, err error) {
	g, err := r.inside(rec)
	if err != nil {
		return nil, err
	}
	err = withIndex(ctx, g, func(g git) error {
		if _, err := g.out(ctx, "read-tree", commit); err != nil {
			return err
		}
		entries, err := g.list(ctx, "-c", "diff.autoRefreshIndex=true", "diff", "--no-ext-diff", "--no-textconv", "--name-status", "--no-renames", "--ignore-submodules=none", "-z")
		if err != nil {
			return err
		}
		for i := 0; i+1 < len(entries); i += 2 {
			if !expected(entries[i]) {
				out = append(out, entries[i+1])
			}
		}
		return r.others(ctx, g, rec, &out)
	})
	return out, err
}

// others adds the files outside the index that are not our own copies. While a
// worktree is being created copies may be half written, and are not known yet.
func (r *Repo) others(ctx context.Context, g git, rec *record, out *[]string) error {
	args := []string{"ls-files", "-z", "--others"}
	if rec.State == Creating {
		args = append(args, "--exclude-standard")
	}
	names, err := g.list(ctx, args...)
	for _, name := range names {
		if !rec.stillIncluded(name) {
			*out = append(*out, name)
		}
	}
	return err
}

// removeFragment removes the metadata of a worktree that git had hardly begun:
// the files git writes first, and nothing else.
func removeFragment(admin string) error {
	for _, name := range []string{"locked", "gitdir", "commondir", "HEAD", "ORIG_HEAD", "index", "index.lock", "swarm.lock", "logs/HEAD", "logs", "refs"} {
		if err := os.Remove(filepath.Join(admin, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove what git left of a worktree: %w", err)
		}
	}
	if err := os.Remove(admin); err != nil {
		return fmt.Errorf("remove what git left of a worktree: %w", err)
	}
	return nil
}
