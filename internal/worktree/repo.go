package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// DefaultStaleAfter is how old a dead process's lock is before it is removed.
const DefaultStaleAfter = time.Minute

// Options are the details of Open; the zero value works.
type Options struct {
	// StaleAfter replaces DefaultStaleAfter if it is positive.
	StaleAfter time.Duration
}

// Repo is one git repository, seen from one of its checkouts.
type Repo struct {
	from  checkout // the caller's
	main  string   // the main checkout; "" if the repository is bare
	stale time.Duration
	token chan struct{} // holds one token; see exclusively
}

// Open returns the repository whose checkout holds dir. It wraps
// ErrNoRepository if there is none and ErrShape if the repository is built in a
// way that could send git elsewhere.
func Open(ctx context.Context, dir string, o Options) (*Repo, error) {
	from, err := findCheckout(dir)
	if err != nil {
		return nil, err
	}
	r := &Repo{from: from, stale: o.StaleAfter, token: make(chan struct{}, 1)}
	if r.stale <= 0 {
		r.stale = DefaultStaleAfter
	}
	if err := r.checkGit(ctx); err != nil {
		return nil, err
	}
	// As git does it, but git cannot list worktrees while one is being made.
	if filepath.Base(from.common) == ".git" {
		r.main = filepath.Dir(from.common)
	}
	return r, nil
}

// checkGit returns an error unless git finds the same directories as this package.
func (r *Repo) checkGit(ctx context.Context) error {
	seen, err := git{dir: r.from.top}.line(ctx, "rev-parse", "--path-format=absolute", "--show-toplevel", "--absolute-git-dir", "--git-common-dir")
	if err != nil {
		return fmt.Errorf("open the repository at %s: %w", r.from.top, err)
	}
	if want := strings.Join([]string{r.from.top, r.from.gitDir, r.from.common}, "\n"); seen != want {
		return refuse(r.from.top, "git takes it for %q; check core.worktree in its configuration", strings.ReplaceAll(seen, "\n", ", "))
	}
	return nil
}

// shared runs commands on the metadata that all checkouts share.
func (r *Repo) shared() git {
	return git{dir: r.from.common, env: []string{"GIT_DIR=" + r.from.common}}
}

// listedTree is one line of git worktree list.
type listedTree struct {
	path, branch, lock string
	bare, locked       bool
}

// checkouts lists the repository's checkouts as git knows them, the main one
// first. The lock must be held: git fails on a worktree that is half made.
func (r *Repo) checkouts(ctx context.Context) ([]listedTree, error) {
	parts, err := r.shared().list(ctx, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, fmt.Errorf("list the worktrees of %s: %w", r.from.common, err)
	}
	var all []listedTree
	for _, p := range parts {
		key, value, _ := strings.Cut(p, " ")
		if key == "worktree" {
			all = append(all, listedTree{path: value})
			continue
		}
		if len(all) == 0 {
			continue
		}
		all[len(all)-1].set(key, value)
	}
	return all, nil
}

func (l *listedTree) set(key, value string) {
	switch key {
	case "branch":
		l.branch = value
	case "bare":
		l.bare = true
	case "locked":
		l.locked, l.lock = true, value
	}
}

// Own returns the real paths of the main checkout, the caller's checkout, and the
// metadata that they share.
func (r *Repo) Own() []string {
	out := []string{r.from.common, r.from.top}
	if r.main != "" {
		out = append(out, r.main)
	}
	return out
}

// Commits returns the parts of the shared metadata that change when a worktree commits: not
// its settings and hooks, which other programs obey.
func (r *Repo) Commits(tree string) []string {
	var out []string
	for _, name := range []string{"objects", "refs", "logs", "lfs"} {
		out = append(out, filepath.Join(r.from.common, name))
	}
	text, err := os.ReadFile(filepath.Join(tree, ".git"))
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err == nil && ok && filepath.Dir(dir) == filepath.Join(r.from.common, "worktrees") {
		out = append(out, dir)
	}
	return out
}

// outside returns an error if root is inside a checkout or the metadata.
func (r *Repo) outside(ctx context.Context, root string) error {
	var trees []listedTree
	err := r.exclusively(ctx, func(git) (err error) {
		trees, err = r.checkouts(ctx)
		return err
	})
	if err != nil {
		return err
	}
	for _, dir := range append(r.Own(), paths(trees)...) {
		if below(root, dir) {
			return refuse(root, "worktrees cannot be inside %s; name a root outside the repository", dir)
		}
	}
	return nil
}

func paths(trees []listedTree) []string {
	var out []string
	for _, t := range trees {
		out = append(out, t.path)
	}
	return out
}

// commit resolves a revision in the caller's checkout.
func (r *Repo) commit(ctx context.Context, rev string) (string, error) {
	if rev == "" {
		rev = "HEAD"
	}
	id, err := git{dir: r.from.top}.line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	var failed *GitError
	if errors.As(err, &failed) && ctx.Err() == nil {
		return "", fmt.Errorf("%s names no commit in %s; commit something first, or give another base: %w", rev, r.from.top, err)
	}
	return id, err
}

// rescueRef is the ref that holds an agent's work when its worktree is removed.
func rescueRef(agent string) string { return "refs/swarm/rescue/" + DirName(agent) }
