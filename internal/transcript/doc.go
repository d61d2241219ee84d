// Package transcript keeps the life of each agent of a node as a fold over the
// node's journal: its conversation, its mail (outbox, inbox, marks), its open
// tool calls, its usage.
//
// Laws:
//
//   - The journal is the truth. A Transcript is what its records say; a method
//     that changes it appends a record first, and folding the records again
//     gives the same Transcript (TestFoldingTheRecordsAgainGivesTheSameTranscript).
//   - Bytes are kept. A message is encoded once; the bytes that a model request
//     carried are the bytes that every later request carries
//     (TestBytesOfARequestAreABytePrefixOfEveryLaterOne).
//   - One record, one fact. An arrival is message, cursor and mark in one
//     record; a message is read in the record of the request that carries it
//     (TestArrivalIsRecordedOnceAndReadInTheRequestThatCarriesIt).
//   - Mail is for who it was meant for. What names an incarnation of its receiver
//     arrives in that one only (TestMailForAnotherIncarnationIsRefused).
//   - A compaction drops nothing from the record. It changes what the next
//     request carries and never a byte of what a fork began with, and a kept
//     message keeps its bytes (TestACompactionKeepsTheRecordAndTheTail,
//     TestACompactionOfAForkLeavesItsPrefix).
//   - Siblings share. Forks of one answer have one copy of their beginning, also
//     when they come back to memory (TestForksThatComeBackShareTheMemoryOfTheirBeginning).
//   - A call has one result. FinishCall takes the first result of a call and
//     refuses a second (TestACallHasOneResult).
//
// A Transcript may be used from several goroutines: the turn goroutine writes
// the conversation, the courier writes mail. The file under transcripts/ is
// for people and hooks: it follows the journal and may lag behind it.
package transcript
