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

// Tree is a worktree that one incarnation of an agent has leased. Its fields do not
// change.
type Tree struct {
	// Path is the worktree's real, absolute path.
	Path string
	// Branch is the branch it was created on, without refs/heads/.
	Branch string
	// Base is the id of the commit it started from.
	Base string
	// Agent and Incarnation name its owner.
	Agent       string
	Incarnation uint32

	repo  *Repo
	owner process.ID
}

func (r *Repo) tree(rec *record) *Tree {
	return &Tree{
		Path: rec.Path, Branch: rec.Branch, Base: rec.Base, Agent: rec.Agent, Incarnation: rec.Incarnation,
		repo: r, owner: rec.Holder,
	}
}

// LeasedFrom returns the checkout that an agent's worktree was leased from, which must be
// opened to adopt it; "" if the checkout or the worktree does not exist.
func LeasedFrom(root, agent string) string {
	rec, err := readRecord(recordPath(root, agent))
	if err != nil || rec == nil || rec.From == "" || missing(rec.From) {
		return ""
	}
	return rec.From
}

// AdoptOptions name the worktree that is adopted, and the new incarnation.
type AdoptOptions struct {
	Agent       string
	Incarnation uint32
	// Root is the root the worktree was leased under.
	Root string
}

// Adopt gives the worktree of an agent, leased or kept, to a later incarnation, or to
// the same one if the process that held it is dead. From then on earlier incarnations
// are refused. The error wraps ErrNoLease if there is no worktree, and is a
// *SupersededError for an incarnation that is too old. ErrGone and ErrShape mean that
// the worktree is not what it was: start no agent in it.
func (r *Repo) Adopt(ctx context.Context, o AdoptOptions) (*Tree, error) {
	root, err := MakeRoot(o.Root)
	if err != nil {
		return nil, fmt.Errorf("adopt the worktree of agent %s: %w", o.Agent, err)
	}
	var t *Tree
	err = r.exclusively(ctx, func(g git) error {
		rec, err := r.checkAdopt(root, o)
		if err != nil {
			return err
		}
		t, err = r.takeOver(ctx, g, rec, o.Incarnation)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("adopt the worktree of agent %s: %w", o.Agent, err)
	}
	return t, nil
}

// checkAdopt returns the record if the incarnation may adopt the worktree.
func (r *Repo) checkAdopt(root string, o AdoptOptions) (*record, error) {
	rec, err := readRecord(recordPath(root, o.Agent))
	switch {
	case err != nil:
		return nil, err
	case rec == nil:
		return nil, fmt.Errorf("%w of it under %s; lease one", ErrNoLease, root)
	case rec.Common != r.from.common:
		return nil, refuse(rec.Path, "it belongs to the repository %s", rec.Common)
	case o.Incarnation < rec.Incarnation:
		return nil, &SupersededError{Agent: o.Agent, Have: o.Incarnation, Want: rec.Incarnation, Path: rec.Path}
	case rec.State == Creating || rec.State == Removing:
		return nil, fmt.Errorf("%w of it that is whole: %s was left while %s; lease one", ErrNoLease, rec.Path, rec.State)
	case o.Incarnation == rec.Incarnation && rec.State == Leased && rec.Holder.Alive() && !rec.Holder.IsSelf():
		return nil, fmt.Errorf("%s: %w to this incarnation in process %d", rec.Path, ErrLeased, rec.Holder.PID)
	}
	return rec, nil
}

func (r *Repo) takeOver(ctx context.Context, g git, rec *record, incarnation uint32) (*Tree, error) {
	admin, err := r.verify(rec)
	if err != nil {
		return nil, err
	}
	if err := r.clearIndexLock(rec, admin); err != nil {
		return nil, err
	}
	foreign, err := r.unlock(ctx, g, rec, admin)
	if err != nil {
		return nil, err
	}
	rec.hold(incarnation)
	// The record first: a lock whose reason is not on record counts as a person's.
	if err := rec.set(Leased); err != nil {
		return nil, err
	}
	if foreign == "" {
		if _, err := g.out(ctx, "worktree", "lock", "--reason", rec.Lock, "--", rec.Path); err != nil {
			return nil, err
		}
	}
	return r.tree(rec), nil
}

// Renew gives the worktree to a later incarnation of its agent in this process, and
// returns its Tree. The old Tree is refused from then on.
func (t *Tree) Renew(ctx context.Context, incarnation uint32) (*Tree, error) {
	return t.repo.Adopt(ctx, AdoptOptions{Agent: t.Agent, Incarnation: incarnation, Root: filepath.Dir(t.Path)})
}

// Check returns nil while the worktree belongs to this incarnation and is what it was.
// Otherwise the error wraps ErrGone or ErrShape, or is a *SupersededError.
func (t *Tree) Check() error {
	rec, err := t.record()
	if err != nil {
		return err
	}
	_, err = t.repo.verify(rec)
	return err
}

// record returns the record if the worktree still belongs to this incarnation.
func (t *Tree) record() (*record, error) {
	rec, err := readRecord(recordPath(filepath.Dir(t.Path), t.Agent))
	switch {
	case err != nil:
		return nil, err
	case rec == nil:
		return nil, fmt.Errorf("%s: the lease of agent %s is %w", t.Path, t.Agent, ErrGone)
	case rec.Incarnation != t.Incarnation || rec.State == Leased && rec.Holder != t.owner:
		return nil, &SupersededError{Agent: t.Agent, Have: t.Incarnation, Want: rec.Incarnation, Path: t.Path}
	}
	return rec, nil
}

// verify returns the metadata directory of a worktree, or an error if the worktree is not
// what is on record.
func (r *Repo) verify(rec *record) (admin string, err error) {
	fi, err := os.Lstat(rec.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("the worktree %s is %w: it was removed or moved", rec.Path, ErrGone)
	case err != nil:
		return "", err
	case !fi.IsDir():
		return "", refuse(rec.Path, "the worktree has become %s", kind(fi))
	}
	entry := filepath.Join(rec.Path, ".git")
	switch fi, err := os.Lstat(entry); {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%s is %w: without it git would take the worktree for a part of another repository; run git worktree repair %s", entry, ErrGone, rec.Path)
	case err != nil:
		return "", err
	case !fi.Mode().IsRegular():
		return "", refuse(entry, "it has become something other than a file")
	}
	if admin, err = pointer(entry); err != nil {
		return "", err
	}
	if filepath.Dir(admin) != filepath.Join(rec.Common, "worktrees") {
		return "", refuse(entry, "it leads to %s, outside the repository %s", admin, rec.Common)
	}
	if err := checkWorktreesDir(rec.Common); err != nil {
		return "", err
	}
	return admin, checkAdmin(admin, rec.Common, entry)
}

// inside returns git for the worktree, with the paths of all its directories, so that a
// .git file that changes later is not followed.
func (r *Repo) inside(rec *record) (git, error) {
	admin, err := r.verify(rec)
	if err != nil {
		return git{}, err
	}
	return git{dir: rec.Path, env: []string{"GIT_DIR=" + admin, "GIT_COMMON_DIR=" + rec.Common, "GIT_WORK_TREE=" + rec.Path}}.unfiltered(), nil
}

// gitDir returns the metadata directory that git uses.
func (g git) gitDir() string {
	for _, v := range slices.Backward(g.env) {
		if dir, ok := strings.CutPrefix(v, "GIT_DIR="); ok {
			return dir
		}
	}
	return g.dir
}
