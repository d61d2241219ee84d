// Package mailbox is what agents say to each other and how it gets there: the
// envelope and its address, the ledger that makes delivery exact, the courier
// that repeats until it is, and a transport in memory. mailbox/natsbox holds the
// transport between processes.
//
// The journal of each node is the truth; a transport is only a wire. A message is
// an intent in its sender's journal first, then an arrival in its receiver's, and
// it leaves the sender's outbox on the receiver's receipt. The laws, each with the
// test that bears its name:
//
//   - Once: whatever a transport loses, doubles or turns back, and whichever node
//     crashes where, a message whose intent is on disk is recorded exactly once by
//     a receiver whose journal survives (TestOnceUnderFaultsAndCrashes).
//   - In order: the messages of one sender to one receiver are recorded in the
//     order of their numbers, without a hole. Between different senders there is
//     only the order of arrival (TestOnceUnderFaultsAndCrashes).
//   - Receipt after disk: no receipt and no wake for a message comes before its
//     record is durable (TestReceiptAfterDisk).
//   - States only move on: accepted, delivered, read, answered; rejected, expired
//     and dead end a message from anywhere before (TestStatesOnlyMoveOn).
//   - One noisy sender stops itself: at most DefaultLimit messages of a pair are
//     unsettled, and at most as many unread ones of one sender wait at a receiver;
//     other senders are not held up (TestFullStopsOnlyThatSender).
//   - A past incarnation is not heard: once a later one of the same sender was
//     recorded, what an earlier one still sends for the first time is rejected
//     (TestPastIncarnationIsRejected).
//   - The gone are answered for: where a node knows that an agent of another has
//     ended for good, it says so to whoever writes to that agent, and holds up
//     nobody else's mail (TestWhoIsGoneIsAnsweredForByAnother).
//   - What the gone have left is sent: a node that has the outboxes of another, which
//     has ended for good, sends them as its own (TestWhatAGoneNodeLeftIsAdopted).
//   - A stale update makes way: an unread message is dropped when its sender writes
//     anew under the same key, and the sender is told (TestAStaleUpdateMakesWay).
//   - A hole that is meant is not waited for: when a sender gives a message up, the
//     next one says so in Skips (TestGivenUpMessageLeavesNoHole).
//
// Not promised: an order between senders; a receipt for every message (they are
// cumulative, and those for read, answered and dead are sent once, so that one may be
// lost between two processes, or with a process that is killed); that a message which
// was given up was not recorded all the same, when it was on the wire already.
//
// Envelopes, receipts and cursors are values. A Ledger is guarded by its owner. A
// Courier and a Transport may be used by several goroutines.
package mailbox
