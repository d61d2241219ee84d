// Package turn is the turn loop of one agent: it takes pending work from the agent's
// transcript, asks the model, runs the tools that the model calls, and repeats until
// there is nothing left to do. It knows nothing of actors, NATS or terminals.
//
//	loop := turn.Turn{
//		Log:   t,
//		Model: client,
//		Base:  model.Request{Model: "claude-…", System: system, Tools: encoded},
//		Tools: tools,
//		Emit:  func(f event.Fact) { bus.Publish(self, f) },
//	}
//	end, err := loop.Run(ctx)
//
// Laws:
//
//   - Recorded before acted on. An answer is on disk before one of its calls
//     runs; a call with outside effects is on disk as started before it runs,
//     and its result before the loop continues
//     (TestLastAnswerIsNotRequestedAgainAfterACrash; package actors:
//     TestPromise5_AKillAtEveryBoundaryOfTheJournalCountsEachCallOnce).
//   - Mail enters at step boundaries. What arrives while the model answers
//     or a tool runs is part of the very next request, not of the next turn
//     (TestMailEntersAtTheNextStepBoundary, TestMailDuringTheLastAnswerIsReadInTheSameTurn);
//     only mail of class mail waits for the next turn, if there can be one
//     (TestMailWaitsForTheNextTurnUnlessThereIsNone).
//   - A control message interrupts a step, not the turn. The stream is dropped,
//     interrupted calls get results that say so, and the message stands first in the
//     request that follows at once (TestControlMessageCutsTheStepNotTheTurn). It does
//     not interrupt that request (TestNoMessageCutsTheRequestThatCarriesIt).
//   - Results in call order. Parallel calls may end in any order; the model
//     sees one result for each, in the order of its calls
//     (TestParallelCallsOverlapAndKeepTheirOrder).
//   - No silent repetition. The model is told that a call is in doubt if it was
//     started and has no result after a crash, unless it only reads or
//     its effect is a record of its own (TestCallCutByACrashIsInDoubt).
//   - Admission before sending. A request that is not admitted is not sent, and
//     the turn ends as over budget; a limit of steps counts the answers in the
//     transcript, so that a crash does not allow more of them
//     (TestRefusedRequestIsNotSent, TestStepLimitCountsAcrossACrash).
//   - No request exceeds its share. By the model's own count a request takes at
//     most 80 % of the context window. New content is admitted by size: small
//     items whole, of large ones a first part that says where the whole is
//     (TestNoRequestExceedsItsShare, TestManyResultsAreAdmittedBySize).
//   - One compaction for each reason. A compaction is followed by a request, and one
//     that would gain nothing is not made: the turn fails with the figures instead
//     (TestIncompressibleConversationFailsOnce,
//     TestTooLongRequestIsCompactedOnce).
//   - A failed summary does not end the agent. If the model cannot make one, an
//     outline takes its place; a temporary failure leaves the conversation as it is
//     (TestFailedSummaryDoesNotEndTheAgent, TestTemporaryFailureLeavesTheConversation).
//   - The cause of the cancellation decides. A turn cancelled with ErrShutdown stays
//     open and continues after a restart; any other cause closes it with a note
//     (TestShutdownLeavesTheTurnOpen, TestEveryOtherCauseClosesTheTurnWithANote).
package turn
