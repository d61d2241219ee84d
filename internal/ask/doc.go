// Package ask is the desk where the questions of a session's agents lie until a
// person answers them.
//
// Laws:
//
//   - A question is settled once: answered, expired, withdrawn because its asker
//     left, or covered by a rule that came meanwhile. Every later answer is an
//     error (TestAQuestionIsSettledOnce).
//   - An answer is recorded before anybody learns of it; one that cannot be
//     recorded leaves the question open (TestAnAnswerThatCannotBeRecordedLeavesTheQuestionOpen).
//   - Expiry is an answer: it is recorded like one (TestExpiryIsRecorded).
//   - An answer for always settles every open question that it covers
//     (TestAlwaysSettlesWhatItCovers).
//
// The desk keeps nothing on disk: an asker whose process died asks again, under
// the same id.
package ask
