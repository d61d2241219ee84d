// Package isolation gives agents directories of their own: git worktrees, or what the
// user's WorktreeCreate hooks make in their place. It determines what such an agent must
// not write to, and lists what isolated agents have left.
//
//	dirs := isolation.New(isolation.Options{Session: id, Root: sessionDir, Dir: workDir, Agents: store})
//	lease, err := dirs.Lease(ctx, spec, incarnation) // or what the agent has already
//	…
//	policy.Boundary = dirs.Boundary(ctx, spec) // nil for an agent that is not isolated
//	…
//	kept, err := lease.Release(ctx) // nil if nothing was worth keeping
//
// The leases themselves, and what makes a directory worth keeping, are those of
// packages worktree and hookdir.
//
// Laws:
//
//   - A later incarnation of an agent gets the directory that the agent has
//     (TestLeaseIsTakenOverByTheNextIncarnation).
//   - A directory in which another agent works that has not ended is kept
//     (TestReleaseKeepsADirectoryThatAnotherAgentUses).
//   - An agent below an isolated one has the same boundary
//     (TestBoundaryHoldsForAgentsBelow).
//   - What is off limits includes the checkouts of the session and of every agent
//     above, and the directories of all isolated agents
//     (TestOffLimitsAreTheCheckoutsAbove).
//   - If it cannot be determined what is off limits, everything is
//     (TestBoundaryWithoutAnswerIsEverything).
//   - Hooks must name exactly one directory. If they fail, the error names what they
//     have made (TestHooksMakeOneDirectory).
package isolation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/hook"
	"github.com/actorswarm/swarm/internal/sandbox"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/worktree"
	"github.com/actorswarm/swarm/internal/worktree/hookdir"
	"github.com/actorswarm/swarm/mailbox"
)

// Agents are the agents of a session; a *transcript.Store is one.
type Agents interface {
	Get(mailbox.AgentID) (*transcript.Transcript, bool)
	All() []*transcript.Transcript
}

// Options describe the session. All but Logger and Getenv are required; List, Prune and
// Rescue need neither Agents nor Transcripts.
type Options struct {
	// Place says what hooks do not see.
	Place   sandbox.Place
	Session string // its id
	Root    string // the session's own directory, below which the isolated agents live
	Dir     string // where the session's agents work
	Agents  Agents
	// Transcripts is the directory with the transcripts of this process's agents; their
	// paths are part of the input of hooks.
	Transcripts string
	// Hooks reads the hooks of the settings files. It is called each time a directory
	// is made or removed.
	Hooks func() *hook.Set
	// Getenv reads the environment of the hooks; nil is os.Getenv.
	Getenv func(string) string
	Logger *slog.Logger // nil discards
}

// Directories are the directories of the isolated agents of one session. The
// methods may be called from any goroutine.
type Directories struct{ o Options }

// New returns the directories of a session. Nothing is made before the first Lease.
func New(o Options) *Directories {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Directories{o: o}
}

// worktrees holds the git worktrees of the session.
func (d *Directories) worktrees() string { return filepath.Join(d.o.Root, "worktrees") }

// hookRecords holds the records of the directories that hooks made.
func (d *Directories) hookRecords() string { return filepath.Join(d.o.Root, "made") }

// hookDirs returns the directories that hooks make. parent is the agent in whose name the
// hooks run, and dir where they run.
func (d *Directories) hookDirs(parent agent.Spec, dir string) *hookdir.Dirs {
	return hookdir.New(d.hookRecords(), maker{d.o, parent, dir}, worktree.Options{})
}

// parentOf returns the spec of the parent of an agent; ok is false if it has none.
func (d *Directories) parentOf(spec agent.Spec) (parent agent.Spec, ok bool) {
	t, ok := d.o.Agents.Get(spec.Parent)
	if !ok {
		return parent, false
	}
	return t.Spec(), true
}

// Lease is the directory of one incarnation of an agent.
type Lease struct {
	Dir  string
	dirs *Directories
	spec agent.Spec
	tree releaser
}

// releaser is the lease of a git worktree or of a directory that a hook made.
type releaser interface {
	Release(ctx context.Context, keep ...string) (worktree.Released, error)
}

// Release ends the lease once the agent's last process has ended. The directory is
// removed if nothing in it is worth keeping; otherwise the result names it and the
// reasons why it is kept. Release may be called again after a crash.
func (l *Lease) Release(ctx context.Context) (*agent.KeptDir, error) {
	released, err := l.tree.Release(ctx, l.dirs.users(l.spec, l.Dir)...)
	if err != nil || released.Removed {
		return nil, err
	}
	return &agent.KeptDir{Path: released.Path, Branch: released.Branch, Why: released.Why}, nil
}

// Lease gives an agent a directory of its own, or takes over the one that it has. A new
// one is a git worktree of its parent's HEAD, or what the WorktreeCreate hooks make.
func (d *Directories) Lease(ctx context.Context, spec agent.Spec, incarnation uint32) (*Lease, error) {
	tree, dir, err := d.adopt(ctx, spec, incarnation)
	if errors.Is(err, worktree.ErrNoLease) {
		tree, dir, err = d.make(ctx, spec, incarnation)
	}
	if err != nil {
		return nil, err
	}
	return &Lease{Dir: dir, dirs: d, spec: spec, tree: tree}, nil
}

// adopt takes over the directory that the agent has. The error wraps
// worktree.ErrNoLease if it has none.
func (d *Directories) adopt(ctx context.Context, spec agent.Spec, incarnation uint32) (releaser, string, error) {
	parent, _ := d.parentOf(spec)
	made, err := d.hookDirs(parent, d.o.Dir).Adopt(ctx, string(spec.ID), incarnation)
	if err == nil {
		return made, made.Path, nil
	}
	if !errors.Is(err, worktree.ErrNoLease) {
		return nil, "", err
	}
	from := worktree.LeasedFrom(d.worktrees(), string(spec.ID))
	if from == "" {
		from = d.o.Dir
	}
	repo, err := worktree.Open(ctx, from, worktree.Options{})
	if errors.Is(err, worktree.ErrNoRepository) {
		return nil, "", fmt.Errorf("%w: %w", worktree.ErrNoLease, err)
	}
	if err != nil {
		return nil, "", err
	}
	tree, err := repo.Adopt(ctx, worktree.AdoptOptions{Agent: string(spec.ID), Incarnation: incarnation, Root: d.worktrees()})
	if err != nil {
		return nil, "", err
	}
	return tree, tree.Path, nil
}

// make makes a new directory. Before the agent's birth spec.Dir is its parent's
// directory, from whose HEAD the worktree starts. Later it is the agent's own, which is
// gone; then the worktree starts from the session's directory.
func (d *Directories) make(ctx context.Context, spec agent.Spec, incarnation uint32) (releaser, string, error) {
	from, want := spec.Dir, ""
	if _, born := d.o.Agents.Get(spec.ID); born {
		want = spec.Dir
	}
	if !isDir(from) {
		from = d.o.Dir
	}
	if d.o.Hooks().Has(worktreeCreate, "") {
		return d.makeByHook(ctx, spec, from, hookdir.LeaseOptions{Agent: string(spec.ID), Incarnation: incarnation, Want: want})
	}
	repo, err := worktree.Open(ctx, from, worktree.Options{})
	if err != nil {
		return nil, "", err
	}
	tree, err := repo.Lease(ctx, worktree.LeaseOptions{Agent: string(spec.ID), Incarnation: incarnation, Root: d.worktrees()})
	if err != nil {
		return nil, "", err
	}
	return tree, tree.Path, nil
}

func (d *Directories) makeByHook(ctx context.Context, spec agent.Spec, from string, o hookdir.LeaseOptions) (releaser, string, error) {
	var err error
	if o.Off, err = d.offLimits(ctx, spec); err != nil {
		return nil, "", err
	}
	parent, _ := d.parentOf(spec)
	made, err := d.hookDirs(parent, from).Lease(ctx, o)
	if err != nil {
		return nil, "", err
	}
	return made, made.Path, nil
}

// users names the other agents that have not ended and work in a directory.
func (d *Directories) users(owner agent.Spec, dir string) (why []string) {
	for _, t := range d.o.Agents.All() {
		if l := t.Record(); l.Spec.ID != owner.ID && !l.Closed && within(l.Spec.Dir, dir) {
			why = append(why, fmt.Sprintf("agent %s works in it", agent.DisplayName(l.Spec)))
		}
	}
	return why
}

func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
