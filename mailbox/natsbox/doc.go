// Package natsbox moves mail over NATS JetStream. Box is the mailbox.Transport of
// a node. Open gives a Bus, which is the mailbox without agents: a durable message bus
// between processes, with a journal of its own.
//
//	bus, err := natsbox.Open(ctx, natsbox.OpenOptions{Dir: dir, Space: "orders", URL: "nats://127.0.0.1:4222"})
//	defer bus.Close()
//	err = bus.Register("bob", func(e mailbox.Envelope) error { return handle(e.Body) })
//	id, err := bus.Post(ctx, "bob", "ann", "done") // returns when it is on disk
//
// The laws of Box, in addition to those of mailboxtest.Run, each with the test that
// bears its name:
//
//   - One stream and one consumer for a process, however many agents it has
//     (TestOneConsumerPerProcess). The consumer is not durable and nothing is
//     acknowledged: what arrived is in the journal, and everything else comes again.
//   - A stream that is not the cursor's, or ends before the cursor, is read from
//     its beginning and reported (TestRegressedStreamIsReadAgain).
//   - A message that cannot be read is skipped and reported; it stops nothing
//     (TestPoisonIsSkippedAndReported). The same holds for a message whose envelope
//     contradicts its subject, because the server checks permissions on the subject.
//   - Each attempt has a Nats-Msg-Id of its own, so that no sender can make the
//     server drop another's message by its id (TestFreshMessageIDForEachAttempt).
//   - The server may die and come back at any time (TestKilledServerLosesNothing), and
//     a cluster may have no leader for a while when a box starts.
//
// The laws of Bus:
//
//   - Post returns when the message is on disk. The message is received exactly once
//     and in order, unless its receiver returns an error or dies while it handles the
//     message; then it is received again (TestBusOnceAcrossKills in examples/bus,
//     TestReceivedAgainAfterAnError).
//
// Not promised: that the stream keeps anything. It is a buffer with limits, and
// senders send again what it dropped before it was received.
//
// Box and Bus may be used by several goroutines.
package natsbox
