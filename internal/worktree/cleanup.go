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

// cleanUp undoes a creation, or finishes a removal, that a dead process left half done.
// left is why it cannot. The lock on the metadata must be held, and the record's
// holder must be dead.
func (r *Repo) cleanUp(ctx context.Context, g git, rec *record) (left string, err error) {
	switch rec.State {
	case Creating:
		return r.discard(ctx, g, rec)
	case Removing:
		return r.finish(ctx, g, rec)
	}
	return "", nil
}

// discard undoes a creation. No agent has worked in the worktree; still, it stays if it
// holds files that git did not put there.
func (r *Repo) discard(ctx context.Context, g git, rec *record) (left string, err error) {
	admin, whole, err := r.metadata(rec)
	if err != nil {
		return "", err
	}
	switch {
	case admin == "":
	case !whole:
		err = removeMetadata(admin)
	default:
		left, err = r.discardWhole(ctx, g, rec, admin)
	}
	if left != "" || err != nil {
		return left, err
	}
	// Only an empty directory is removed; anything else in it is not ours.
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
	if left, err := r.restoreGitFile(rec, admin); left != "" || err != nil {
		return left, err
	}
	if missing(rec.Path) {
		return "", r.forceRemove(ctx, g, rec)
	}
	extra, err := r.unexpected(ctx, rec, rec.Base, func(string) bool { return true })
	if err != nil {
		return "", err
	}
	if len(extra) > 0 {
		return fmt.Sprintf("%s holds files that git did not put there (%s)", rec.Path, sample(extra)), nil
	}
	return "", r.forceRemove(ctx, g, rec)
}

// finish completes a removal. Every file that is still there must be in the commit that
// was found to hold all of them.
func (r *Repo) finish(ctx context.Context, g git, rec *record) (left string, err error) {
	admin, whole, err := r.metadata(rec)
	if err != nil {
		return "", err
	}
	there := !missing(rec.Path)
	switch {
	case admin == "" && there:
		return "git does not know it any more, but its directory exists", nil
	case admin == "":
		return "", r.forget(ctx, g, rec, rec.Tip)
	case !whole && !there:
		return "", errors.Join(removeMetadata(admin), r.forget(ctx, g, rec, rec.Tip))
	}
	if left, err := r.restoreGitFile(rec, admin); left != "" || err != nil {
		return left, err
	}
	if there {
		extra, err := r.unexpected(ctx, rec, rec.Final, func(status string) bool { return status == "D" })
		if err != nil {
			return "", err
		}
		if len(extra) > 0 {
			rec.Final, rec.Tip = "", ""
			return fmt.Sprintf("%s was changed while it was removed (%s)", rec.Path, sample(extra)), rec.set(Kept)
		}
	}
	if err := r.forceRemove(ctx, g, rec); err != nil {
		return "", err
	}
	return "", r.forget(ctx, g, rec, rec.Tip)
}

// forceRemove lets git remove a worktree of which every file is known to be elsewhere.
func (r *Repo) forceRemove(ctx context.Context, g git, rec *record) error {
	_, err := g.unfiltered().out(ctx, "worktree", "remove", "--force", "--force", "--", rec.Path)
	return err
}

// metadata finds git's directory for a worktree, by its path back to the worktree or by
// our lock. whole reports whether git knows it as a worktree.
func (r *Repo) metadata(rec *record) (admin string, whole bool, err error) {
	dir := filepath.Join(rec.Common, "worktrees")
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", false, fmt.Errorf("find the metadata of %s: %w", rec.Path, err)
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

// restoreGitFile writes the .git file of a half-removed worktree again, without which
// git does not take it for a worktree. left names a lock that is not ours.
func (r *Repo) restoreGitFile(rec *record, admin string) (left string, err error) {
	if lock, err := firstLine(filepath.Join(admin, "locked")); err == nil && lock != rec.Lock {
		return "it is locked: " + lock, nil
	}
	entry := filepath.Join(rec.Path, ".git")
	fi, err := os.Lstat(rec.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil || !fi.IsDir() {
		return "", errors.Join(err, refuse(rec.Path, "the worktree is not a directory"))
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

// unexpected lists the files that differ from those of a commit, except those whose
// status expected accepts as git's own unfinished work.
func (r *Repo) unexpected(ctx context.Context, rec *record, commit string, expected func(status string) bool) (out []string, err error) {
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
		return r.untracked(ctx, g, rec, &out)
	})
	return out, err
}

// untracked adds the files outside the index that are not our own copies. While a
// worktree is being created, copies may be half written and are not on record yet, so
// ignored files do not count.
func (r *Repo) untracked(ctx context.Context, g git, rec *record, out *[]string) error {
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

// removeMetadata removes the metadata of a worktree that git had only begun to make: the
// files that git writes first, and nothing else.
func removeMetadata(admin string) error {
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
