// Package worktree leases git worktrees to agents, so that each edits files of its own
// while the user's checkout stays as it is. It runs the git command with the
// repository's hooks, fsmonitor and filters switched off.
//
//	repo, err := worktree.Open(ctx, dir, worktree.Options{})
//	tree, err := repo.Lease(ctx, worktree.LeaseOptions{Agent: id, Incarnation: 1, Root: root})
//	… // the agent works in tree.Path
//	released, err := tree.Release(ctx) // removes it, or released.Why lists why it stays
//
// Laws:
//
//   - One owner: a worktree belongs to one incarnation of one agent. A later
//     incarnation may adopt it; an earlier one is refused from then on
//     (TestOlderIncarnationIsRefused).
//   - Nothing that an agent wrote is lost: Release removes a worktree only if no file
//     was changed or added, ignored files included, and every commit made in it,
//     including reset and amended ones, is on another branch, tag, remote or rescue
//     ref. Otherwise the worktree stays and the reasons are returned
//     (TestEveryByteIsRecoverable).
//   - Prune removes only worktrees that are untouched or that a rescue ref holds
//     byte for byte (TestPruneRemovesOnlyWhatIsRescued). Only git deletes files;
//     this package never deletes a directory tree.
//   - The main checkout, its index, its HEAD and the configuration are never
//     written (TestEveryByteIsRecoverable).
//   - Operations on the shared metadata of one repository run one after another, across
//     all Repo values and processes, and wait for a git command that outlives its
//     killed parent (TestManyProcessesWithKills).
//   - A creation that a kill cut short is undone: its record is written first, and the
//     next Lease of that agent, List or Prune reads it (TestUnfinishedLeaseIsUndone).
//   - Unexpected layouts are refused: a symbolic link as .git, as the
//     worktrees directory or as the root; metadata that points elsewhere
//     (TestOpenRefusesOddShapes, TestForgedTreeIsKept).
//   - No program runs that the repository's own settings name
//     (TestNoProgramOfTheRepositoryRuns). Filters that the user's settings name do.
//   - Git, and what it runs, changes the shared metadata, the worktree at hand and nothing
//     else, where the machine can hold it to that (TestGitChangesNothingElse).
//   - A stale lock is removed only if its holder is dead and it is older
//     than Options.StaleAfter; a lock that a person set is never removed
//     (TestForeignLockIsKept).
//
// Every method may be called from any goroutine and honours its context. Git is
// ended with SIGTERM first, so that it removes its own lock files.
//
// Limits: a lock on refs, such as packed-refs.lock, names no holder and is never
// removed; git waits ten seconds for one. Bytes that differ from the committed ones
// only by git's conversion of line endings or by its filters can be lost, and so can
// objects that were staged and dropped again, and empty directories. Records are not
// synced to disk: after a loss of power one may be unreadable, and then its worktree
// stays. Whether a living process uses a worktree is known on Linux only.
package worktree
