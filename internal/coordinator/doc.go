// Package coordinator runs agents: each is a supervised actor that messages start, wake,
// interrupt and stop. A Coordinator runs the agents of one process over their
// transcripts.
//
//	c := coordinator.New(coordinator.Options{
//		Store: store, Definitions: definitions, Model: models, Tools: tools, Events: bus,
//	})
//	err := c.Start(ctx)
//	bob, err := c.Spawn(ctx, spec, "review the change")
//	err = c.Quiet(ctx)    // until no agent has work left
//	err = c.Shutdown(ctx) // open turns go on after a restart
//
// Laws:
//
//   - A host never blocks. A turn runs in a goroutine of its own under the
//     agent's scope, and the actor keeps receiving, so a stop takes effect at once
//     (TestPromise4_AStopEndsThatAgentAndNoOther, TestAStopEndsAnAgentThatIsCompacting).
//   - No wake is lost. A wake carries no data: the host reads its transcript,
//     and reads it again after each turn. An agent that has finished, or whose host was
//     parked, gets a new host when mail for it arrives; an agent
//     that was stopped stays stopped until a new message for it is sent
//     (TestMailThatComesAfterTheEndIsNotLost, TestAMessageWakesAParkedAgent).
//   - Scopes form a tree. A foreground child runs in the scope of the turn that
//     waits for it, a background child and a teammate in the session's. Everything that
//     a scope started ends before the scope does (TestAnyEndOfTheScopeIsAShutdown,
//     TestAStopEndsAnAgentThatWaitsForItsChildren).
//   - One intent, one agent. A spawn is identified by the parent's answer and the call
//     in it: after a crash the same call finds the agent that it made, or its
//     result, and gives it its task if that was not recorded
//     (TestPromise3_ASpawnCutBetweenBirthAndTaskIsFinished). A later call makes another
//     agent, even under the same id (TestACallIDThatIsUsedAgainMakesAnotherAgent).
//   - Every end is reported once. The end of a foreground child is the result of the
//     call, that of a background child a message to the agent that it works for, that of
//     a teammate a message to the lead. Each is recorded before it is announced, under an
//     id of its own, and waits for room in a full mailbox
//     (TestPromise3_ATreeOfAgentsReportsToEachSpawnerOnce, TestAnEndWaitsForRoomInAFullMailbox).
//   - An agent has not ended while agents that it started in the background are
//     at work: their reports wake it, and the text of its last turn is its result
//     (TestAnAgentWaitsForItsOwnBackgroundChildren). If it ends in another way, the link
//     that was recorded when each child was started says what happens to that child; by
//     default the nearest living ancestor gets its report
//     (TestALinkSaysWhatAnEndMeansForThoseBelow).
//   - No agent works for itself, so no two wait for each other
//     (TestNoAgentComesToWorkForItself).
//   - Only working agents are in memory. The conversation of an agent that has been idle
//     for Policy.Residency, or has ended, is only in the journal until there is
//     work, and is loaded with the same bytes (TestAnIdleAgentLeavesMemoryAndComesBackWithTheSameBytes,
//     TestForksThatAreWokenAgainKeepEveryByteOfTheirBeginning).
//   - The watchdog measures progress. A turn ends as timed out, with the text so far,
//     when a request, an answer, a tool call or the whole turn makes no progress until
//     its deadline. An open connection is no progress; a wait that the API asked for
//     does not count (TestADeadlineEndsWhatStandsStillAndNothingElse,
//     TestADeadlineHoldsOverRetriesAndNotForRateLimits).
//   - States follow from facts: what Status reports follows from what the agent
//     did, never from time (TestStateFollowsFromTheFacts).
//   - All questions to a person wait in one queue. Only an answer with the id of the
//     question lets the call run; question and answer survive a crash
//     (TestPermissionRequestsBubble, TestForgedLateAndDoubledAnswersAreErrors,
//     TestAMessageIsNeverConsent, TestQuestionsSurviveACrash).
//   - Above the limit agents wait in a queue, in order, and none is refused. A parent
//     that waits for a child takes no slot, nor does an agent that waits for a person
//     (TestOverTheLimitAgentsQueueAndNoneIsRefused, TestAParentThatWaitsForItsChildHoldsNoSlot,
//     TestAPersonHasNoDeadlineOfTheWork).
//   - A budget covers a subtree. A request is sent if it fits into the accounts of
//     its agent and of all its ancestors, together with the requests under way. An agent
//     whose request does not fit ends as over budget, and a spawn that could not send
//     one request is refused (TestAnAgentThatAlwaysSpawnsFiveOfItselfIsHeld,
//     TestABudgetOfASubtreeEndsTheSubtreeOnly, TestASpawnWithoutBudgetIsATypedRefusal).
//     Accounts follow from the transcripts: an agent has used what was billed
//     for the answers that it has; an answer lost in a crash is not counted
//     (TestABudgetCountsWhatWasUsedBeforeARestart, TestTheLedgerIsTheProvidersBill).
//   - A resumed agent is unchanged. A call that asks for another mode, model,
//     directory or limit is refused with the fields to leave out
//     (TestACallGoesOnWithAnAgentAsItWas).
//
// The package imports the turn loop and knows nothing of teams; it is the only one
// that uses the actor kernel.
package coordinator
