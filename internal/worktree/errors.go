package worktree

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrNoRepository is returned for a directory that no git repository holds.
	ErrNoRepository = errors.New("not inside a git repository")
	// ErrShape is wrapped when a repository or directory is built in a way that could
	// lead git to another one. Nothing has been changed then.
	ErrShape = errors.New("refused")
	// ErrLeased is wrapped when the agent's worktree exists already.
	ErrLeased = errors.New("already leased")
	// ErrNoLease is wrapped when there is no worktree to adopt.
	ErrNoLease = errors.New("no worktree")
	// ErrGone is wrapped when a worktree's directory or metadata is missing.
	ErrGone = errors.New("gone")
)

// SupersededError reports the use of a worktree that a later incarnation, or
// another process, has taken over.
type SupersededError struct {
	Agent      string
	Have, Want uint32 // the incarnation that asked, and the one that owns
	Path       string
}

func (e *SupersededError) Error() string {
	return fmt.Sprintf("the worktree %s of agent %s belongs to incarnation %d now; incarnation %d must not use it", e.Path, e.Agent, e.Want, e.Have)
}

// GitError is a git command that failed.
type GitError struct {
	Args   []string
	Dir    string
	Stderr string // at most a few kilobytes
	Err    error
}

func (e *GitError) Error() string {
	stderr := cmp.Or(strings.TrimSpace(e.Stderr), "git printed no reason")
	return fmt.Sprintf("git %s in %s: %v: %s", strings.Join(e.Args, " "), e.Dir, e.Err, stderr)
}

func (e *GitError) Unwrap() error { return e.Err }

// refuse returns the error for a path that is not what it has to be.
func refuse(path, why string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", path, ErrShape, fmt.Sprintf(why, args...))
}
