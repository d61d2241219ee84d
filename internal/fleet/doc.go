// Package fleet is the owner's side of agents that have processes of their own: it starts
// these processes, follows their reports, answers their requests, and ends them.
//
//	f, notes := fleet.New(ctx, fleet.Options{Record: record, Store: store, Events: events})
//	agents := coordinator.New(coordinator.Options{Remote: f}) // the coordinator starts agents through f
//	f.Attach(fleet.Parts{Agents: agents, Roster: roster, Bus: bus, Sessions: peers})
//	err := f.Open(conn) // processes are answered
//	f.Close(ctx)        // asks them to end, and kills those that do not
//	cancel()            // ends ctx
//	err = f.Wait()      // for what was under way
//
// The process of an agent is its worker. A worker reports at intervals; one that is silent
// for too long counts as lost and is started again, a few times. It outlives an owner that
// is killed: the next owner takes it over at its first report, and ends one that does not
// report by its lock. Agents that a worker starts itself live in its process and are found
// through Directory.
//
// The laws:
//
//   - An agent runs once its process has reported, and nothing is left of one that never
//     did (TestProblem21_RunningMeansASignOfLife).
//   - Only the newest process of an agent is heard (TestProblem44_NothingOfAnOldIncarnationCounts).
//   - A process of an earlier owner that reports goes on (TestALivingProcessIsTakenOver);
//     one that does not is ended (TestAProcessThatNobodyHearsOfIsEndedByItsLock).
//   - A process that is silent is shown as stuck (TestProblem28_AFrozenProcessIsStuck).
//   - A reservation ends with the process that has asked for it
//     (TestAReservationEndsWithItsProcess).
//   - A message that a process has accepted arrives, also if the process ends at once
//     (TestWhatADeadProcessHasAcceptedArrives).
//   - The sender of mail to an agent that has ended for good is told
//     (TestProblem20_TheDeadBelowATeammateApartKeepNoMail).
package fleet
