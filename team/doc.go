// Package team is how the agents of a session know and write to each other:
// the roster of names and teams, the tools for messages, the task lists, and the
// manager that makes teams of files and takes them down.
//
//	roster := team.NewRoster(agents)
//	boards := team.NewBoards(agents, openStore, board.Options{})
//	teams := team.NewManager(agents, roster, boards, team.ManagerOptions{Team: own, List: listOf})
//	tools := slices.Concat(roster.Tools(agent), roster.TaskTools(agent, boards, listOf))
//	status, err := teams.Up(ctx, file)
//
// Laws:
//
//   - A name is resolved when a message is sent, to one agent. A name that
//     nobody has is an error that lists those that come near. An agent that has
//     ended is woken by the message, or is an error if it cannot be. Nothing is
//     queued for nobody (TestAnUnknownReceiverIsAnErrorThatSaysWhoThereIs,
//     TestAMessageWakesAnAgentThatHasEnded, TestProblem20_TheDeadDoNotKeepMail).
//   - "Queued" is said after the message is on disk, and nothing more is said
//     than that: delivered and read are told by receipts
//     (TestPromise1_EveryMessageArrivesOnceAndInOrderOnADiskThatForgets).
//   - A team is what the memberships recorded with its agents say, under a
//     generated id; its name is a label. A bare name means somebody of the
//     sender's own team first, and never one of several. Each team has its list
//     (TestANameMeansSomebodyOfTheSendersTeamFirst,
//     TestAnAgentInSeveralTeamsIsFoundInEach).
//   - A team file that is brought up again changes nothing, and one of which a member
//     cannot be made makes nobody (TestATeamThatIsUpStaysAsItIs,
//     TestATeamThatCannotBeMadeMakesNobody). A member that leaves ends for good unless
//     it is in another team, and what it had taken is offered again
//     (TestAMemberOfTwoTeamsStaysInTheOther, TestWhatAMemberHadTakenIsOfferedAgain).
//   - Only the user, the lead and who started an agent may cut its work with a
//     control message (TestProblem14_OnlyTheUserTheLeadAndAParentMayCutWork).
//   - A sender whose messages nobody reads is told so and held up a little, and
//     costs the others nothing (TestProblem48_AStalledAgentStopsItsSenderOnly).
//   - A task whose holder is gone is offered again when its lease ends
//     (TestATaskIsOfferedAgainWhenItsLeaseEnds), whatever else there is to renew
//     (TestRenewalsDoNotHoldUpAnOffer).
//   - A long text travels by reference: it is on disk before the message that
//     names it (TestALongMessageIsReadByReference).
//   - A broadcast is one message for each member but the sender, each with its
//     own receipt; a member that cannot take it is named
//     (TestProblem20_ABroadcastTellsWhoItReaches).
//   - An outside member is one program at a time: what an older incarnation of it
//     says is refused. Its mail stays unread until it says that it has it, and its
//     own requests keep the tasks that it has taken
//     (TestMailStaysUnreadUntilTheProgramHasIt).
package team
