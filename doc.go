// Package swarm runs swarms of LLM agents: every agent is a supervised actor
// with its own abort scope, and the messages of agents to each other travel as typed
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
// The state of a session is on disk before it is acted on. A session whose
// process died is opened again with Options.Session and continues with Resume.
//
// Teammates may have processes of their own (Options.TeammateMode). Their laws:
//
//   - An agent runs once its process has reported. Nothing remains of a process that never
//     reported (TestProblem21_RunningMeansASignOfLife).
//   - One process runs an agent. Requests of an earlier process of that agent are refused
//     (TestProblem44_NothingOfAnOldIncarnationCounts).
//   - The process of an agent holds it to its plan mode, also while there is no owner. The
//     owner checks who may decide about the plan, and passes each decision on
//     (TestProblem41_PlanGateHoldsInAnotherProcess).
//   - The owner shuts a member down, since it has the process, the pane, the name and the
//     tasks. The member finishes or objects once, and is killed at the deadline if it does
//     not answer (TestAMemberInAnotherProcessMayObjectOnce).
//   - The owner has the budget: under a limit no process sends a request that the owner has
//     not reserved (TestProcessesShareTheBudgetOfTheirSession). Without an owner such a
//     request waits. A request that is under way when the owner ends is charged when it is
//     reported, and not reserved with the next owner.
//   - A process that runs outlives its owner, and the next owner takes it over
//     (TestALivingProcessIsTakenOver). One that does not report is found by its lock and
//     ended before the agent gets another process
//     (TestAProcessThatNobodyHearsOfIsEndedByItsLock).
//   - The owner shows the records of all processes, whether they run or not
//     (TestTheOwnerShowsWhatIsInOtherProcesses).
package swarm
