// Package transcript keeps the record of each agent of a node: its conversation, its
// mail (outbox, inbox, marks), its open tool calls and its usage. All of it follows from
// the node's journal. A Store holds the transcripts of a node and is the
// mailbox.Recorder of its courier; it also answers what became of one message and what
// is in one inbox.
//
//	store, err := transcript.Open(ctx, dir, session, transcript.Options{})
//	t, wait, err := store.Create(spec) // wait returns when it is on disk
//	err = t.Prompt("user", "review the change")
//	messages, read, err := t.Request(turn.Frame) // for the model, with new mail
//	err = t.Answer(answer)
//	err = t.FinishCall(id, result, true)
//
// Laws:
//
//   - The journal is the truth. A Transcript follows from its records; a method
//     that changes it appends a record first, and replaying the records
//     gives the same Transcript (TestFoldingTheRecordsAgainGivesTheSameTranscript).
//   - Bytes are kept. A message is encoded once, and every later request carries
//     the bytes that the first one carried
//     (TestBytesOfARequestAreABytePrefixOfEveryLaterOne).
//   - One record, one fact. An arrival is message, cursor and mark in one
//     record; a message counts as read in the record of the request that carries it
//     (TestArrivalIsRecordedOnceAndReadInTheRequestThatCarriesIt).
//   - Mail for one incarnation of its receiver is refused by every other one
//     (TestMailForAnotherIncarnationIsRefused).
//   - A compaction removes nothing from the record. It changes what the next
//     request carries, never the bytes that a fork began with, and a kept
//     message keeps its bytes (TestACompactionKeepsTheRecordAndTheTail,
//     TestACompactionOfAForkLeavesItsPrefix).
//   - Siblings share. Forks of one answer share one copy of their beginning, also
//     after they are loaded again (TestForksThatComeBackShareTheMemoryOfTheirBeginning).
//   - A call has one result. FinishCall takes the first result of a call and
//     refuses a second (TestACallHasOneResult).
//
// A Transcript may be used from several goroutines: the turn goroutine writes
// the conversation, the courier writes mail. The file under transcripts/ is
// for people and hooks: it follows the journal and may lag behind it.
package transcript
