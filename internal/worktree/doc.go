// Package worktree leases git worktrees to agents, so that each edits files of
// its own while the person's checkout stays as it is. It drives the git command
// with the repository's hooks and fsmonitor switched off.
//
// Laws:
//
//   - One owner: a worktree belongs to one incarnation of one agent. A later
//     incarnation may adopt it; an earlier one is refused from then on
//     (TestOlderIncarnationIsRefused).
//   - Nothing an agent wrote is lost: Release removes a worktree only if no file
//     was changed, added or ignored, and every commit made in it, reset and
//     amended ones included, is on another branch, tag, remote or rescue ref.
//     Otherwise the worktree stays and the reasons are returned
//     (TestEveryByteIsRecoverable).
//   - Prune removes what is untouched or what a rescue ref holds to the byte,
//     and nothing else (TestPruneRemovesOnlyWhatIsRescued). Files are deleted by
//     git alone; no directory tree is ever deleted by this package.
//   - The main checkout, its index, its HEAD and the configuration are never
//     written (TestEveryByteIsRecoverable).
//   - All operations on shared metadata of one repository run one after another,
//     over all Repo values and processes. A git command that outlives its killed
//     parent still counts (TestManyProcessesWithKills).
//   - Creation is transactional: a record is written before and completed after.
//     What a kill leaves is undone by the next Lease of that agent, List or Prune
//     (TestUnfinishedLeaseIsUndone).
//   - Odd shapes are refused, never followed: a symbolic link as .git, as the
//     worktrees directory or as the root; metadata that points elsewhere
//     (TestOpenRefusesOddShapes, TestForgedTreeIsKept).
//   - Made does the same for directories that something else than git makes: one
//     owner, never two agents in one directory, untouched ones are handed back,
//     all others stay (TestMadeIsHandedBackOnlyUntouched).
//   - A lock left behind is removed only if its holder is dead and it is older
//     than Options.StaleAfter; a lock that a person set is never removed
//     (TestForeignLockIsKept).
//
// Every method may be called from any goroutine and honours its context; git is
// asked to end (SIGTERM) so that it removes its own lock files.
//
// Not promised: that a lock on refs (packed-refs.lock and the like), which names
// no holder, is ever removed; git is given ten seconds to get past one. That bytes survive which only git's line-ending or filter
// conversion distinguishes from the committed ones; objects that were staged and
// then forgotten; empty directories. Records are not synced to disk: after a loss
// of power one may be unreadable, and then its worktree is kept. Whether a living
// process stands in a worktree is known on Linux only.
package worktree
