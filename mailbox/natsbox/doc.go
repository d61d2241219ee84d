// Package natsbox moves mail over NATS JetStream. Box is the mailbox.Transport of
// a node; Open is the mailbox alone, a durable message bus between processes with
// a journal of its own.
//
// The laws of Box, beyond those of mailboxtest.Run which it passes, each with the
// test that bears its name:
//
//   - One stream and one consumer for a process, however many agents it has
//     (TestOneConsumerPerProcess). The consumer is not durable and nothing is
//     acknowledged: what arrived is in the journal, or comes again.
//   - A stream that is not the one of the cursor, or ends before it, is read from
//     its beginning and reported (TestStreamThatWentBackIsReadAgain).
//   - A message that cannot be read is skipped and reported; it stops nothing
//     (TestPoisonIsSkippedAndReported). So is one whose subject and envelope
//     disagree: the subject is what a server's permissions were checked on.
//   - Each attempt has a Nats-Msg-Id of its own, so that nobody's id makes the
//     server drop another's message (TestFreshMessageIDForEachAttempt).
//   - The server may die and come back at any time (TestServerKilledInMidStream), and
//     a cluster may have no leader for a while when a box starts.
//
// The laws of Bus:
//
//   - Post returns when the message is on disk; it is received exactly once and in
//     order unless its receiver fails on it or dies in the middle of it, and then
//     again (TestBusOnceAcrossKills in examples/bus, TestReceivedAgainAfterAnError).
//
// Not promised: that the stream keeps anything. It is a buffer with limits, and
// whatever falls out of it is sent again by whoever still owes it.
//
// Box and Bus may be used by several goroutines.
package natsbox
