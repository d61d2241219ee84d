// Package roster lets the agents of a session know and write to each other:
// the roster of names and teams, the tools for messages, the task lists, and the
// manager that starts teams from files and ends them.
//
//	r := roster.New(agents)
//	boards := roster.NewBoards(agents, openStore, board.Options{})
//	teams := roster.NewManager(agents, r, boards, roster.ManagerOptions{Team: own, List: listOf})
//	tools := slices.Concat(r.Tools(agent), r.TaskTools(agent, boards, listOf))
//	status, err := teams.Up(ctx, file)
//
// Laws:
//
//   - A name is resolved when a message is sent, to one agent. An unknown name
//     is an error that lists similar ones. A message wakes an agent that has
//     ended, or is an error if the agent cannot be woken. No message is
//     queued without a receiver (TestAnUnknownReceiverIsAnErrorThatSaysWhoThereIs,
//     TestAMessageWakesAnAgentThatHasEnded, TestProblem20_TheDeadDoNotKeepMail).
//   - "Queued" means that the message is on disk, and no more; receipts report
//     delivery and reading
//     (TestPromise1_EveryMessageArrivesOnceAndInOrderOnADiskThatForgets).
//   - A team is defined by the memberships that its agents have recorded, under a
//     generated id; its name is a label. A bare name means a member of the
//     sender's own team first, and is an error if it may mean several. Each team has its list
//     (TestANameMeansSomebodyOfTheSendersTeamFirst,
//     TestAnAgentInSeveralTeamsIsFoundInEach).
//   - Starting a team file again changes nothing, and a file with a member that
//     cannot be started starts no one (TestATeamThatIsUpStaysAsItIs,
//     TestATeamThatCannotBeMadeMakesNobody). A member that leaves ends for good unless
//     it is in another team, and the tasks that it had claimed are offered again
//     (TestAMemberOfTwoTeamsStaysInTheOther, TestWhatAMemberHadTakenIsOfferedAgain).
//   - Only the user, the lead and the agent that started it may interrupt an agent
//     with a control message (TestProblem14_OnlyTheUserTheLeadAndAParentMayCutWork).
//   - A sender whose messages are not read is told so and slowed down a little, and
//     delays no other agent (TestProblem48_AStalledAgentStopsItsSenderOnly).
//   - A task whose holder is gone is offered again when its lease ends
//     (TestATaskIsOfferedAgainWhenItsLeaseEnds), however many other leases are renewed
//     (TestRenewalsDoNotHoldUpAnOffer).
//   - A long text travels by reference: it is on disk before the message that
//     names it (TestALongMessageIsReadByReference).
//   - A broadcast is one message for each member but the sender, each with its
//     own receipt; the result names a member that cannot receive it
//     (TestProblem20_ABroadcastTellsWhoItReaches).
//   - An outside member is one program at a time: requests of an older incarnation are
//     refused. Its mail stays unread until it acknowledges it, and its
//     own requests renew the tasks that it has claimed
//     (TestMailStaysUnreadUntilTheProgramHasIt).
package roster
