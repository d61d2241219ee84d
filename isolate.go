package swarm

import (
	"context"
	"errors"
	"sync"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/worktree"
	"github.com/actorswarm/swarm/mailbox"
)

// trees keeps the worktrees of the session's isolated agents, for the point
// where their calls are judged.
type trees struct {
	mu sync.Mutex
	of map[mailbox.AgentID]*worktree.Tree // guarded by mu
}

func (t *trees) set(id mailbox.AgentID, tree *worktree.Tree) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[mailbox.AgentID]*worktree.Tree{}
	}
	if tree == nil {
		delete(t.of, id)
		return
	}
	t.of[id] = tree
}

func (t *trees) get(id mailbox.AgentID) *worktree.Tree {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[id]
}

// isolate gives an agent a git worktree from its parent's HEAD, or takes over
// the one that it has.
func (s *Session) isolate(ctx context.Context, spec transcript.Spec, incarnation uint32) (*actors.Isolation, error) {
	tree, err := s.adopt(ctx, spec, incarnation)
	if errors.Is(err, worktree.ErrNoLease) {
		tree, err = s.lease(ctx, spec, incarnation)
	}
	if err != nil {
		return nil, err
	}
	s.trees.set(spec.ID, tree)
	return &actors.Isolation{Dir: tree.Path, Release: func(ctx context.Context) (*transcript.Kept, error) {
		s.trees.set(spec.ID, nil)
		released, err := tree.Release(ctx)
		if err != nil || released.Removed {
			return nil, err
		}
		return &transcript.Kept{Path: released.Path, Branch: released.Branch, Why: released.Why}, nil
	}}, nil
}

func (s *Session) adopt(ctx context.Context, spec transcript.Spec, incarnation uint32) (*worktree.Tree, error) {
	repo, err := worktree.Open(ctx, s.opts.Dir, worktree.Options{})
	if err != nil {
		return nil, err
	}
	return repo.Adopt(ctx, worktree.AdoptOptions{
		Agent: string(spec.ID), Incarnation: incarnation, Root: worktreeRoot(s.info.Path),
	})
}

// lease makes a new worktree. Before its birth spec.Dir is the parent's
// directory, whose HEAD counts; later that directory is gone and the session's
// counts.
func (s *Session) lease(ctx context.Context, spec transcript.Spec, incarnation uint32) (*worktree.Tree, error) {
	from := spec.Dir
	if !isDir(from) {
		from = s.opts.Dir
	}
	repo, err := worktree.Open(ctx, from, worktree.Options{})
	if err != nil {
		return nil, err
	}
	return repo.Lease(ctx, worktree.LeaseOptions{
		Agent: string(spec.ID), Incarnation: incarnation, Root: worktreeRoot(s.info.Path),
	})
}

// enclosure keeps an isolated agent's calls in its worktree.
func (s *Session) enclosure(spec transcript.Spec) *permission.Enclosure {
	tree := s.trees.get(spec.ID)
	if tree == nil {
		return nil
	}
	return &permission.Enclosure{
		Tree: tree.Path, Protected: tree.Protected(),
		Linked: func(path string) (string, error) { return tree.Linked(s.scope, path) },
	}
}
