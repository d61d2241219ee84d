// Package actors hosts agents: each is a supervised actor with its own abort
// scope, started, woken, interrupted and stopped by messages.
//
// Laws:
//
//   - A host never blocks. A turn runs in a goroutine of its own under the
//     agent's scope; the actor listens all the while, so a stop is heard at once
//     (TestPromise4_AStopEndsThatAgentAndNoOther, TestAStopEndsAnAgentThatIsCompacting).
//
//   - No wake is lost. A wake carries no data: the host looks at its transcript,
//     and after each turn it looks once more. Mail that was on its way to an agent
//     that was done, or whose host was given up, makes it another host; an agent
//     that was stopped stays so until it is written to anew
//     (TestMailThatComesAfterTheEndIsNotLost, TestAMessageWakesAnAgentWhoseHostWasGivenUp).
//
//   - Scopes form a tree. A foreground child lives in the scope of the turn that
//     waits for it, a background child and a teammate in the session's. What a
//     scope started has ended before the scope has (TestAnyEndOfTheScopeIsAShutdown,
//     TestAStopEndsAnAgentThatWaitsForItsChildren).
//
//   - One intent, one agent. A spawn is known by the parent's answer and the call
//     in it: the same call after a crash finds the agent that it made, or its
//     result, and gives it its task if that was not recorded
//     (TestPromise3_ASpawnCutBetweenBirthAndTaskIsFinished). A later call is another
//     one, also under the same id (TestACallIDThatIsUsedAgainMakesAnotherAgent).
//
//   - Every end is told once. A foreground child's end is the result of the call,
//     a background child's a message to whom it works for, a teammate's a message to the
//     lead; each is recorded before it is announced, under an id of its own. A full
//     mailbox is waited for
//     (TestPromise3_ATreeOfAgentsTellsEachSpawnerOnce, TestAnEndWaitsForRoomInAFullMailbox).
//
//   - An agent has not ended while agents that it started in the background are
//     at work: their reports wake it, and its last turn's text is its result
//     (TestAnAgentWaitsForItsOwnBackgroundChildren). What an end by other means is
//     to them is their link, recorded at their birth; by default the nearest above
//     is told (TestALinkSaysWhatAnEndMeansForThoseBelow).
//
//   - Nobody works for itself, so no two wait for each other
//     (TestNobodyComesToWorkForItself).
//
//   - Only who works is in memory. The conversation of an agent that has been idle
//     for Policy.Residency, or has ended, is in the journal alone until there is
//     work, and comes back with the same bytes (TestAnIdleAgentLeavesMemoryAndComesBackWithTheSameBytes,
//     TestForksThatAreWokenAgainKeepEveryByteOfTheirBeginning).
//
//   - The watchdog looks at progress. A turn in which a request, an answer, a tool
//     call or the whole stands still for its deadline ends as timed out, with what
//     was said so far; a kept connection is no progress, and a wait that the API
//     asked for no standstill (TestADeadlineEndsWhatStandsStillAndNothingElse,
//     TestADeadlineHoldsOverRetriesAndNotForRateLimits).
//
//   - A state has a fact behind it: what Status says follows from what the agent
//     did, never from time (TestStateFollowsFromTheFacts).
//
//   - A question to a person waits in one queue, whoever asks. Nothing but an answer
//     with its id lets the call run; question and answer survive a crash
//     (TestPermissionRequestsBubble, TestForgedLateAndDoubledAnswersAreErrors,
//     TestAMessageIsNeverConsent, TestQuestionsSurviveACrash).
//
//   - Over the limit agents queue, in order, and none is refused for it. A parent
//     that waits for a child holds no place, nor does who waits for a person
//     (TestOverTheLimitAgentsQueueAndNoneIsRefused, TestAParentThatWaitsForItsChildHoldsNoPlace,
//     TestAPersonHasNoDeadlineOfTheWork).
//
//   - A budget is of a subtree. A request leaves when it fits into the accounts of
//     its agent and of all above it, beside what others have in flight; who does
//     not fit ends as over budget, and a spawn that could ask nothing is refused
//     (TestAnAgentThatAlwaysSpawnsFiveOfItselfIsHeld,
//     TestABudgetOfASubtreeEndsTheSubtreeOnly, TestASpawnWithoutBudgetIsATypedRefusal).
//     Accounts are made of the transcripts: what an agent has used is what was billed
//     for the answers it has; one that a crash has taken is not known of
//     (TestABudgetCountsWhatWasUsedBeforeARestart, TestTheLedgerIsTheProvidersBill).
//
//   - Who is gone on with is as it was. A call that asks for another mode, model,
//     directory or limit is refused, with what to leave out
//     (TestACallGoesOnWithAnAgentAsItWas).
//
// The package imports the turn loop and knows no team; it is the only one that
// uses the actor kernel.
package actors
