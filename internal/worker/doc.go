// Package worker is the process of one teammate: a node with a journal of its own, a
// lock, and its line to the owner of the session.
//
//	w, err := worker.Open(ctx, worker.Options{Session: id, StateDir: state, Agent: agent, Launch: 1})
//	err = w.Run(ctx) // until the agent or the session ends
//	err = errors.Join(err, w.Close())
//
// The laws:
//
//   - One process runs an agent: an old start of it that comes back is refused by the
//     lock, and nothing that it says counts (TestProblem44_NothingOfAnOldIncarnationCounts).
//   - A worker goes on while its owner is gone, and a new owner takes it over
//     (TestALivingProcessIsTakenOver).
//   - Under a budget a request leaves only after the owner has reserved it
//     (TestProcessesShareTheBudgetOfTheirSession).
package worker
