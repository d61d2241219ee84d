// Package board is the task list that the members of a team share: what there
// is to do, what waits for what, and who has taken it. Its laws, each with the
// test that bears its name:
//
//   - One owner: a claim is a compare-and-set on the task as it was seen; of any
//     number of members that reach for a task one gets it and the others are told
//     who has it (TestOneOwner).
//   - A claim is a lease of one incarnation: it holds while that incarnation is
//     renewed, and when it runs out the task is offered again
//     (TestALeaseThatRunsOutOffersTheTaskAgain).
//   - A late result is refused: only who holds the claim may move the task on;
//     whoever lost it gets a *LostError (TestALateResultIsRefused).
//   - An old incarnation takes nothing: once a later one of the same agent has
//     acted on the board, what the older does is a *SupersededError, also with a task
//     that nobody holds (TestAnOldIncarnationTakesNothing).
//   - No cycles: a dependency that would make a task wait for itself is refused,
//     also when two are added at once (TestNoCycles).
//   - What is waited for comes first: a task with open blockers cannot be claimed,
//     and when the last of them is done the task is said to be free, once
//     (TestDependantsAreFreedOnce).
//   - Nobody gets what it cannot do: a task that needs writing is not given to a
//     member without writing tools (TestAReaderGetsNoWritingTask).
//   - An id is never used twice, also not after its task was deleted
//     (TestAnIDIsNeverUsedTwice).
//
// A Board keeps nothing of its own: its Store does, which several boards in
// several processes may share. A Board may be used by several goroutines.
//
// Not promised: an order between the changes that two processes make to different
// tasks.
package board
