// Package kernel runs actors: named, supervised mailboxes with one behavior each. It is the
// only importer of protoactor, which keeps the names, the life cycle and the routing of
// failures; mailboxes, workers and the restart policy are in this package.
//
//	system := kernel.New(kernel.Options{})
//	ref, err := system.Spawn("counter", newCounter, kernel.SpawnOptions{})
//	ref.Tell(add{1})
//	sum, err := kernel.Ask(ctx, ref, func(reply chan<- int) any { return total{reply} })
//	err = system.Stop(ctx) // every actor, then the workers
//
// Tell, Stop, Done, Spawn and Dropped may be called from anywhere, also from inside Receive,
// and never block, except a first Spawn while the System is still being prepared. Ask and
// System.Stop block and must not be called inside Receive: they would block the actor that
// they may be waiting for.
//
// # Laws
//
//   - Order. Messages of one sender to one actor are received in the order in which they
//     were sent (TestMessagesOfOneSenderKeepTheirOrder). [Control] messages overtake ordinary
//     ones and keep their own order; a stop overtakes both
//     (TestSystemThenControlThenOrdinaryEachInOrder). One actor receives one message at a time.
//   - Conservation. A message to an actor ends in exactly one place: it is received; or it is
//     the one that panicked, which a [Panic] names; or it was still queued at the stop and is
//     in [Stopped].Undelivered; or it came after the stop and is counted by [System.Dropped]
//     (TestEveryMessageEndsInOnePlace).
//   - Failure. A panic (or runtime.Goexit) in Receive touches that actor only. After a
//     back-off a fresh behavior continues with the queue as it was
//     (TestAPanicTouchesThatActorOnlyAndTheQueueSurvives). Too many panics in the policy's
//     window park the actor: it stops, and Parked is called with the reason
//     (TestBackOffDoublesAndTheFourthPanicParks).
//   - Stop. A stopping actor receives [Stopping], then [Stopped], then nothing
//     (TestNothingIsReceivedBetweenStoppingAndStopped). A panic in either is reported and
//     changes nothing else (TestAPanicInALastHandlerRevivesAndKillsNothing). The name is free
//     after Stopped has returned and before Done is closed
//     (TestTheNameIsHeldUntilStoppedHasReturned). A stop waits for the Receive in progress,
//     since Go cannot end it (TestABusyActorStopsWhenItReturnsHoweverLate).
//   - Asks. Every [Ask] returns: with the answer, with the Panic that its message caused, with
//     [ErrStopped], or with the cause of its context (TestEveryAskResolvesDuringRandomStops).
//   - Cost. An idle actor has no goroutine and no queue
//     (TestAnIdleActorHasNoQueueAndOneSizeClass). Workers are shared and wait for more work
//     (TestWorkersAreReusedAndBounded); [System.Stop] ends them (TestNothingIsLeftAfterSystemStop).
//
// Not promised: messages are not durable, and not bounded: senders must bound what they send.
// The message that panicked is not received again. There is no order between messages of
// different senders.
package kernel
