// Package mailbox carries messages between agents, in one process or several: the
// envelope and its address; the Ledger, the mail state of one agent, which makes
// delivery exact; the Courier, which sends a message again until it is recorded; and a
// Transport in memory. Package mailbox/natsbox has the transport between processes.
//
//	// store implements Recorder: it keeps the ledgers of a node's agents on disk
//	courier := mailbox.NewCourier(transport, store, mailbox.CourierOptions{})
//	err := courier.Start(ctx, store.Cursor(), store.Pending())
//	defer courier.Stop()
//	e, err := ledger.Compose(mailbox.Envelope{To: bob, Body: "hello"}, mailbox.DefaultLimit)
//	… // record e durably
//	courier.Send(e)
//
// The journal of each node is the truth; a transport may lose everything. A message is
// recorded as an intent in its sender's journal, then as an arrival in its receiver's,
// and it leaves the sender's outbox when the receiver's receipt comes. The laws, each
// with the test of its name:
//
//   - Once: whatever a transport loses, duplicates or replays, and whichever node
//     crashes at whatever point, a message whose intent is on disk is recorded exactly
//     once by a receiver whose journal survives (TestOnceUnderFaultsAndCrashes).
//   - In order: the messages of one sender to one receiver are recorded in the
//     order of their numbers, without gaps. Between different senders there is
//     only the order of arrival (TestOnceUnderFaultsAndCrashes).
//   - Receipt after disk: no receipt and no wake for a message is sent before its
//     record is durable (TestReceiptAfterDisk).
//   - States only advance: accepted, delivered, read, answered; a message may become
//     rejected, expired or dead from any earlier state (TestStatesOnlyAdvance).
//   - A fast sender blocks only itself: at most DefaultLimit messages of a pair are
//     unacknowledged, and at most as many unread ones of one sender wait at a receiver;
//     other senders are not delayed (TestFastSenderBlocksOnlyItself).
//   - A past incarnation is rejected: once a later one of the same sender was
//     recorded, a message that an earlier one sends for the first time is rejected
//     (TestPastIncarnationIsRejected).
//   - Mail to agents that have ended is acknowledged: a node that knows that an agent
//     of another node has ended for good notifies its senders, and delays no other mail
//     (TestMailToEndedAgentsIsAcknowledged).
//   - Mail from nodes that have ended is sent: a node that has the outboxes of another,
//     which has ended for good, sends their messages as its own
//     (TestMailFromEndedNodesIsSent).
//   - A stale update is replaced: an unread message is dropped when its sender sends
//     another under the same key, and the sender is notified (TestStaleUpdateIsReplaced).
//   - A deliberate gap does not block: when a sender gives up a message, the
//     next one lists it in Skips (TestDeliberateGapDoesNotBlock).
//
// Not promised: an order between senders; a receipt for every message (they are
// cumulative, and those for read, answered and dead are sent once, so that one may be
// lost between two processes, or with a process that is killed); that a message which
// was given up was not recorded, if it had been sent already.
//
// Envelopes, receipts and cursors are values. A Ledger is guarded by its owner. A
// Courier and a Transport may be used by several goroutines.
package mailbox
