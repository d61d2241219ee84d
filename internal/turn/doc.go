// Package turn is the turn loop: it takes what an agent has to work on from
// its transcript, asks the model, runs the tools the model calls, and goes on
// until there is nothing left to do. It knows no actors, no NATS and no
// terminal.
//
// Laws:
//
//   - Recorded before acted on. An answer is on disk before one of its calls
//     runs; a call with outside effects is on disk as started before it runs,
//     and its result before the loop goes on
//     (TestAnAnswerThatEndedTheTurnIsNotAskedForAgainAfterACrash; package actors:
//     TestPromise5_AKillAtEveryBoundaryOfTheJournalCountsEachCallOnce).
//   - Mail enters at step boundaries. Whatever arrived while the model thought
//     or a tool ran is part of the very next request, not of the next turn
//     (TestMailEntersAtTheNextStepBoundary, TestMailThatCameWithTheLastAnswerIsReadInTheSameTurn);
//     only mail of class mail waits for the next turn, if there can be one
//     (TestMailWaitsForTheNextTurnUnlessThereIsNone).
//   - A control message cuts a step, not the turn. The stream is dropped, cut
//     calls get results that say so, and the message stands first in the request
//     that follows at once (TestAControlMessageCutsTheStepNotTheTurn), which it
//     does not cut again (TestNoMessageCutsTheRequestThatCarriesIt).
//   - Results in call order. Parallel calls may end in any order; the model
//     sees their results in the order of its calls, one for each
//     (TestParallelCallsOverlapAndKeepTheirOrder).
//   - Never run again in silence. A call that was started and has no result
//     after a crash is told to the model as in doubt, unless it only reads or
//     its effect is a record of its own (TestACallCutByACrashIsInDoubtAndNotRunAgain).
//   - Asked before it leaves. A request that is not admitted is not sent, and
//     the turn ends as over budget; a limit of steps counts the answers in the
//     transcript, so that a crash gives no more of them
//     (TestARequestThatIsNotAdmittedIsNotSent, TestTheLimitOfStepsCountsOverACrash).
//   - No request is above its share. By the model's own count a request takes at
//     most 80 % of the context window; what is new in it is let in by size, small
//     things whole, of large ones a first part that says where the whole is
//     (TestNoRequestIsAboveItsShareWhateverComes, TestManyResultsAtOnceAreLetInBySize).
//   - A compaction is made once for each reason. One that was made is followed by
//     a request, and one that would gain nothing is not made: the turn fails with
//     the figures instead (TestAConversationThatCannotBeMadeSmallerFailsWithTheReasonAndDoesNotLoop,
//     TestATooLongRequestIsCompactedOnceAndThenFails).
//   - The agent outlives its summary. A model that cannot make one is replaced by
//     an outline; a failure that may pass leaves the conversation as it is
//     (TestASummaryThatCannotBeMadeDoesNotLoseTheAgent, TestAFailureThatMayPassLeavesTheConversation).
//   - The cause decides. A turn cancelled with ErrShutdown is left open and
//     goes on after a restart; any other cause closes it with a note
//     (TestShutdownLeavesTheTurnOpen, TestEveryOtherCauseClosesTheTurnWithANote).
package turn
