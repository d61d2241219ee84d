package worktree

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// RescueOptions are the details of Rescue; the zero value works.
type RescueOptions struct {
	// Ignored commits ignored files too. Unchanged copies of .worktreeinclude's
	// are never committed.
	Ignored bool
}

// Rescued is the result of a Rescue.
type Rescued struct {
	// Ref is refs/swarm/rescue/ and the agent's name, and Commit is what it points to.
	Ref, Commit string
	// Ignored are the files left out because they are ignored.
	Ignored []string
	// Nested are the repositories inside the worktree, which were left out.
	Nested []string
}

// Rescue commits all files of the worktree, byte for byte, to the agent's
// rescue ref. Its parents are the worktree's HEAD, what was staged, every commit
// that only the metadata of the worktree holds, and the rescue before this one. Worktree,
// index and branch stay as they are; no hook or filter runs. If the ref holds
// everything already, nothing is written.
func (t *Tree) Rescue(ctx context.Context, o RescueOptions) (Rescued, error) {
	rec, err := t.record()
	if err != nil {
		return Rescued{}, fmt.Errorf("rescue the worktree of agent %s: %w", t.Agent, err)
	}
	return t.repo.rescue(ctx, rec, o)
}

// Rescue is Tree.Rescue for the worktree of an agent that may not run any more.
func (r *Repo) Rescue(ctx context.Context, root, agent string, o RescueOptions) (Rescued, error) {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return Rescued{}, fmt.Errorf("rescue the worktree of agent %s: %w", agent, err)
	}
	rec, err := readRecord(recordPath(root, agent))
	if err == nil && rec == nil {
		err = fmt.Errorf("%w of it under %s", ErrNoLease, root)
	}
	if err == nil && rec.Common != r.from.common {
		err = refuse(rec.Path, "it belongs to the repository %s", rec.Common)
	}
	if err != nil {
		return Rescued{}, fmt.Errorf("rescue the worktree of agent %s: %w", agent, err)
	}
	return r.rescue(ctx, rec, o)
}

func (r *Repo) rescue(ctx context.Context, rec *record, o RescueOptions) (Rescued, error) {
	out := Rescued{Ref: rescueRef(rec.Agent)}
	s, err := r.snapshot(ctx, rec, o.Ignored)
	if err != nil {
		return out, fmt.Errorf("rescue the worktree of agent %s: %w", rec.Agent, err)
	}
	out.Ignored, out.Nested = s.ignored, s.nested
	err = r.exclusively(ctx, func(g git) error {
		if out.Commit, err = r.holds(ctx, g, rec, s); err != nil || out.Commit != "" {
			return err
		}
		out.Commit, err = r.commitSnapshot(ctx, g, rec, s)
		return err
	})
	if err != nil {
		return out, fmt.Errorf("rescue the worktree of agent %s: %w", rec.Agent, err)
	}
	return out, nil
}

const indexTrailer = "Staged-Tree: "

// holds returns the commit of the rescue ref if that holds all of s; else "".
func (r *Repo) holds(ctx context.Context, g git, rec *record, s *snapshot) (string, error) {
	id, err := g.line(ctx, "for-each-ref", "--format=%(objectname)", rescueRef(rec.Agent))
	if err != nil || id == "" {
		return "", err
	}
	text, err := g.line(ctx, "show", "--no-patch", "--no-show-signature", "--format=%T%n%B", id)
	if err != nil {
		return "", err
	}
	if tree, body, _ := strings.Cut(text, "\n"); tree != s.tree || !slices.Contains(lines(body), indexTrailer+s.index) {
		return "", nil
	}
	missing, err := g.feed(ctx, []byte(strings.Join(s.tips, "\n")+"\n^"+id+"\n"), "rev-list", "--ignore-missing", "--max-count=1", "--stdin")
	if err != nil || len(missing) > 0 {
		return "", err
	}
	return id, nil
}

func (r *Repo) commitSnapshot(ctx context.Context, g git, rec *record, s *snapshot) (string, error) {
	g = g.with("GIT_AUTHOR_NAME=swarm", "GIT_AUTHOR_EMAIL=swarm@localhost", "GIT_COMMITTER_NAME=swarm", "GIT_COMMITTER_EMAIL=swarm@localhost")
	old, err := g.line(ctx, "for-each-ref", "--format=%(objectname)", rescueRef(rec.Agent))
	if err != nil {
		return "", err
	}
	staged, err := commitTree(ctx, g, s.index, "staged by agent "+rec.Agent+"\n", s.tips[:1])
	if err != nil {
		return "", err
	}
	parents := []string{s.tips[0], staged}
	for _, tip := range append(s.tips[1:], old) {
		// A commit that git has deleted cannot be a parent.
		if _, err := g.out(ctx, "cat-file", "-e", tip+"^{commit}"); err == nil {
			parents = append(parents, tip)
		} else if ctx.Err() != nil {
			return "", err
		}
	}
	message := fmt.Sprintf("rescue of agent %s\n\nWorktree: %s\nBranch: %s\nBase: %s\n%s%s\n", rec.Agent, rec.Path, rec.Branch, rec.Base, indexTrailer, s.index)
	id, err := commitTree(ctx, g, s.tree, message, unique(parents))
	if err != nil {
		return "", err
	}
	if old == "" {
		old = strings.Repeat("0", len(id))
	}
	_, err = g.out(ctx, "update-ref", rescueRef(rec.Agent), id, old)
	return id, err
}

func commitTree(ctx context.Context, g git, tree, message string, parents []string) (string, error) {
	args := []string{"commit-tree", "--no-gpg-sign", "-F", "-"}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	out, err := g.feed(ctx, []byte(message), append(args, tree)...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// complete returns an error that lists what the rescue left out.
func (r Rescued) complete() error {
	var errs []error
	if len(r.Ignored) > 0 {
		errs = append(errs, fmt.Errorf("%d ignored files were not rescued (%s)", len(r.Ignored), sample(r.Ignored)))
	}
	if len(r.Nested) > 0 {
		errs = append(errs, fmt.Errorf("repositories inside it cannot be rescued (%s); push them and move them away", sample(r.Nested)))
	}
	return errors.Join(errs...)
}
