// Package swarm runs swarms of LLM agents: every agent is a supervised actor
// with its own abort scope, and what agents say to each other travels as typed
// messages over an embedded NATS server, recorded in one journal.
//
// A program opens a Session on a directory, lets the lead agent work on a
// prompt, and closes it:
//
//	s, err := swarm.Open(ctx, swarm.Options{Dir: "."})
//	if err != nil { … }
//	defer s.Close()
//	result, err := s.Run(ctx, "find the three largest functions")
//
// Everything a session knows is on disk before it is acted on. A session whose
// process died is opened again with Options.Session and goes on with Resume.
//
// Teammates may have processes of their own (Options.TeammateMode). Laws of those:
//
//   - Running means a sign of life: a spawn is answered at the first report of its
//     process, and of one that never comes nothing is left
//     (TestProblem21_RunningMeansASignOfLife).
//   - One process of an agent counts. What an earlier one says changes nothing
//     (TestProblem44_NothingOfAnOldIncarnationCounts).
//   - A plan's gate is where the agent is, so that it holds without an owner; who
//     decides is known to the owner, through which every decision goes
//     (TestProblem41_PlanGateHoldsInAnotherProcess).
//   - A shutdown is the owner's, who has process, pane, name and tasks; the member
//     objects once or finishes, and what does not answer is killed at the deadline
//     (TestAMemberInAnotherProcessMayObjectOnce).
//   - Budgets are the owner's: under a limit no request leaves any process that was
//     not reserved there (TestProcessesShareTheBudgetOfTheirSession). Without an
//     owner such a request waits. What is in flight when the owner dies is charged
//     when it is reported, and not reserved with the next.
//   - A living process outlives its owner and is taken over by the next; one that
//     does not report is ended by its lock, before another of its agent begins
//     (TestALivingProcessIsTakenOver, TestAProcessThatNobodyHearsOfIsEndedByItsLock).
//   - What is on record in a process is seen from the owner, whether the process
//     lives or not (TestTheOwnerShowsWhatIsInOtherProcesses).
package swarm
