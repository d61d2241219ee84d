// Package worker runs one teammate in a process of its own: a node with a journal, a
// lock, and a connection to the owner of the session.
//
//	w, err := worker.Open(ctx, worker.Options{Session: id, StateDir: state, Agent: agent, Launch: 1})
//	err = w.Run(ctx) // until the agent or the session ends
//	err = errors.Join(err, w.Close())
//
// The laws:
//
//   - One process runs an agent: the lock keeps an older start of it out, and the owner
//     ignores its reports (TestProblem44_NothingOfAnOldIncarnationCounts).
//   - A worker continues while it has no owner, and the next owner takes it over
//     (TestALivingProcessIsTakenOver).
//   - Under a budget a request leaves only after the owner has reserved it
//     (TestProcessesShareTheBudgetOfTheirSession).
package worker
