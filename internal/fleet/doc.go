// Package fleet is the owner's side of agents that have processes of their own: it starts
// these processes, follows their reports, answers their requests, and ends them.
//
//	f, notes := fleet.New(ctx, fleet.Options{Record: record, Store: store, Events: events})
//	agents := coordinator.New(coordinator.Options{Remote: f}) // the coordinator starts agents through f
//	f.Attach(fleet.Parts{Agents: agents, Roster: roster, Bus: bus, Sessions: peers})
//	err := f.Open(conn) // answers requests of the processes
//	f.Close(ctx)        // asks them to end, and kills those that do not
//	cancel()            // ends ctx
//	err = f.Wait()      // for goroutines
//
// The process of an agent is its worker, which reports at intervals. If there is no report
// for too long, the process counts as lost and is restarted, a few times. A worker survives
// an owner that is killed: the next owner takes it over at its first report, or finds it by
// its lock and ends it. Agents that a worker starts live in its process; Directory finds
// them.
//
// The laws:
//
//   - An agent runs once its process has reported. Nothing remains of a process that never
//     reported (TestProblem21_RunningMeansASignOfLife).
//   - Requests of an older process of an agent are refused
//     (TestProblem44_NothingOfAnOldIncarnationCounts).
//   - A process of an earlier owner that reports is taken over
//     (TestALivingProcessIsTakenOver); one that does not is ended
//     (TestAProcessThatNobodyHearsOfIsEndedByItsLock).
//   - A process that is silent is shown as stuck (TestProblem28_AFrozenProcessIsStuck).
//   - A reservation ends with the process that made it
//     (TestAReservationEndsWithItsProcess).
//   - A message that a process has accepted arrives, even if the process ends at once
//     (TestWhatADeadProcessHasAcceptedArrives).
//   - The sender of mail to an agent that has ended for good is notified
//     (TestProblem20_TheDeadBelowATeammateApartKeepNoMail).
package fleet
