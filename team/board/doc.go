// Package board is the task list that the members of a team share: tasks, their
// dependencies, and who has claimed which.
//
//	b, err := board.Open(ctx, store, board.Options{})
//	defer b.Close()
//	task, err := b.Create(ctx, lead, board.New{Subject: "fix the parser"})
//	task, err = b.Next(ctx, bob)            // claims a free one
//	err = b.Renew(ctx, lives)               // while the owner runs
//	task, err = b.Finish(ctx, bob, task.ID) // frees the tasks that waited for it
//
// Its laws, each with the test that bears its name:
//
//   - One owner: a claim is a compare-and-set on the task as it was seen. Of any
//     number of members that claim a task at once one gets it, and the others learn
//     who has it (TestOneOwner).
//   - A claim is a lease of one incarnation: it holds while that incarnation is
//     renewed, and when it expires the task is offered again
//     (TestALeaseThatRunsOutOffersTheTaskAgain).
//   - A late result is refused: only the holder of the claim may change the task's
//     state; a member that has lost it gets a *LostError (TestALateResultIsRefused).
//   - An old incarnation changes nothing: once a later one of the same agent has
//     acted on the board, the older one gets a *SupersededError, also for a task
//     that has no owner (TestAnOldIncarnationTakesNothing).
//   - No cycles: a dependency that would make a task wait for itself is refused,
//     also when two are added at once (TestNoCycles).
//   - Dependencies come first: a task with open blockers cannot be claimed,
//     and it is announced as free once, when the last of them is done
//     (TestDependantsAreFreedOnce).
//   - Tasks fit their owners: a task that needs writing is not given to a
//     member without writing tools (TestAReaderGetsNoWritingTask).
//   - An id is never used twice, also not after its task was deleted
//     (TestAnIDIsNeverUsedTwice).
//
// A Board has no state of its own: its Store has, and several boards in
// several processes may share it. A Board may be used by several goroutines.
//
// Not promised: an order between the changes that two processes make to different
// tasks.
package board
