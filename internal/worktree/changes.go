package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Changes lists what a worktree holds that its base does not. Paths are relative to the
// worktree, as git prints them.
type Changes struct {
	// Modified are tracked files that were changed, staged or deleted.
	Modified []string
	// Untracked are new files that no pattern ignores.
	Untracked []string
	// Ignored are new files that are ignored, and copies made for .worktreeinclude
	// that were changed.
	Ignored []string
	// Commits are the ids of commits that no other branch, tag, remote or rescue ref
	// holds, including commits that were amended or reset away.
	Commits []string
	// Submodules are changed or checked-out submodules, and repositories
	// created inside the worktree.
	Submodules []string
	// Unfinished names a merge, rebase or the like in progress.
	Unfinished string
	// Unsure lists what could not be read, and why.
	Unsure []string
}

// Clean reports whether there are no changes.
func (c Changes) Clean() bool { return len(c.Why()) == 0 }

// Why returns a short phrase for each kind of change.
func (c Changes) Why() []string {
	var out []string
	add := func(list []string, what string) {
		if len(list) > 0 {
			out = append(out, fmt.Sprintf("%d %s (%s)", len(list), what, sample(list)))
		}
	}
	add(c.Modified, "changed files")
	add(c.Untracked, "untracked files")
	add(c.Ignored, "ignored files")
	add(c.Commits, "commits that nothing else holds")
	add(c.Submodules, "submodules or nested repositories")
	if c.Unfinished != "" {
		out = append(out, c.Unfinished+" is unfinished")
	}
	return append(out, c.Unsure...)
}

func sample(list []string) string {
	if len(list) > 3 {
		return strings.Join(list[:3], ", ") + ", …"
	}
	return strings.Join(list, ", ")
}

// Changes finds the changes in the worktree, which it only reads. It compares the files
// with the agent's index and also without it, since an index can be told to ignore
// changes.
func (t *Tree) Changes(ctx context.Context) (Changes, error) {
	rec, err := t.record()
	if err != nil {
		return Changes{}, err
	}
	return t.repo.changes(ctx, rec)
}

// changeScan collects Changes.
type changeScan struct {
	Changes
	seen map[string]bool
}

func (r *Repo) changes(ctx context.Context, rec *record) (Changes, error) {
	g, err := r.inside(rec)
	if err != nil {
		return Changes{}, err
	}
	c := &changeScan{Changes: Changes{Unfinished: unfinished(g.gitDir())}, seen: map[string]bool{}}
	steps := []func(context.Context, git, *record) error{c.readStatus, c.readPlainStatus, c.readIgnored, c.readNested, c.readCommits}
	for _, step := range steps {
		if err := step(ctx, g, rec); err != nil {
			return Changes{}, fmt.Errorf("find the changes in %s: %w", rec.Path, err)
		}
	}
	return c.Changes, nil
}

func (c *changeScan) readStatus(ctx context.Context, g git, _ *record) error {
	out, stderr, err := g.run(ctx, nil, "-c", "core.checkStat=default", "status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=none", "--no-renames")
	if err != nil {
		return err
	}
	if stderr != "" {
		// Git warns of a directory that it cannot read, and takes it for clean.
		c.Unsure = append(c.Unsure, strings.TrimSpace(stderr))
	}
	for _, entry := range split(out) {
		c.status(entry)
	}
	return nil
}

func (c *changeScan) status(entry string) {
	fields := map[byte]int{'1': 9, 'u': 11, '?': 2}[entry[0]]
	parts := strings.SplitN(entry, " ", max(fields, 1))
	if fields == 0 || len(parts) < fields {
		return
	}
	path := parts[fields-1]
	switch {
	case entry[0] == '?' && strings.HasSuffix(path, "/"):
		c.note(&c.Submodules, path)
	case entry[0] == '?':
		c.note(&c.Untracked, path)
	case strings.HasPrefix(parts[2], "S"):
		c.note(&c.Submodules, path)
	default:
		c.note(&c.Modified, path)
	}
}

// readPlainStatus compares the files with HEAD through an index of its own.
func (c *changeScan) readPlainStatus(ctx context.Context, g git, _ *record) error {
	return withIndex(ctx, g, func(g git) error {
		if _, err := g.out(ctx, "read-tree", "HEAD"); err != nil {
			return err
		}
		return c.readStatus(ctx, g, nil)
	})
}

func (c *changeScan) readIgnored(ctx context.Context, g git, rec *record) error {
	names, err := g.list(ctx, "ls-files", "-z", "--others", "--ignored", "--exclude-standard")
	for _, name := range names {
		switch {
		case strings.HasSuffix(name, "/"):
			c.note(&c.Submodules, name)
		case !rec.stillIncluded(name):
			c.note(&c.Ignored, name)
		}
	}
	return err
}

// readNested finds repositories that git does not list and would delete with the
// worktree: those of submodules, and directories with a .git of their own.
func (c *changeScan) readNested(_ context.Context, g git, rec *record) error {
	if hasSubmodules(g.gitDir()) {
		c.note(&c.Submodules, "repositories of submodules")
	}
	files, err := walk(rec.Path)
	if err != nil {
		return err
	}
	for _, n := range files.nested {
		c.note(&c.Submodules, n)
	}
	return nil
}

func (c *changeScan) readCommits(ctx context.Context, g git, rec *record) error {
	found, err := tips(ctx, g, rec)
	if err != nil {
		return err
	}
	c.Commits, err = unreferenced(ctx, g, rec, found)
	return err
}

// hasSubmodules reports whether git has repositories of submodules in a worktree's
// metadata. They would be deleted with it.
func hasSubmodules(admin string) bool {
	_, err := os.Lstat(filepath.Join(admin, "modules"))
	return err == nil
}

// unfinished names the operation of git that is in progress; "" if there is none.
func unfinished(admin string) string {
	for _, o := range []struct{ file, name string }{
		{"MERGE_HEAD", "a merge"},
		{"rebase-merge", "a rebase"},
		{"rebase-apply", "a rebase or am"},
		{"CHERRY_PICK_HEAD", "a cherry-pick"},
		{"REVERT_HEAD", "a revert"},
		{"sequencer", "a sequence of picks"},
		{"BISECT_LOG", "a bisection"},
	} {
		if _, err := os.Lstat(filepath.Join(admin, o.file)); err == nil {
			return o.name
		}
	}
	return ""
}

// withIndex runs f with a git whose index is a file of its own.
func withIndex(ctx context.Context, g git, f func(git) error) error {
	dir, err := os.MkdirTemp("", "swarm-index-")
	if err != nil {
		return fmt.Errorf("make a directory for an index: %w", err)
	}
	err = f(g.with("GIT_INDEX_FILE=" + filepath.Join(dir, "index")))
	return errors.Join(err, os.RemoveAll(dir))
}

// note adds a path to a list, unless it is in one already.
func (c *changeScan) note(list *[]string, path string) {
	if key := strings.TrimSuffix(path, "/"); !c.seen[key] {
		c.seen[key] = true
		*list = append(*list, path)
	}
}
