// Package model holds what agents say to a language model and what it answers:
// messages, blocks, requests, events, usage and errors, and the Model interface
// that providers implement.
//
// Laws:
//
//   - Encoded once. A message, tool or system block is turned into bytes when it
//     is made, and those bytes never change: not in the journal, not in a
//     request. Request.AppendBody only concatenates, so the body of a longer
//     conversation begins with every byte of the shorter one up to its last
//     message, and forks share their parent's prefix
//     (TestMessageIsEncodedOnceWithoutEscapingHTML,
//     TestBodyIsTheConcatenationOfKeptBytes,
//     TestForkBodiesShareEveryByteUpToTheDirective).
//   - No empty message. A Message is either zero or has content
//     (TestMessageWithZeroLengthContentIsNeverProduced).
//   - Finished means complete. A stream yields Finished at most once, as its
//     last event, and only when the provider said the answer was complete. A cut
//     stream ends in an error of kind Truncated instead (TestClientKeepsTheLawsOfModel
//     in each provider).
//   - No call from a cut answer. Answer.Calls returns only calls whose input
//     arrived whole, in an answer that was not cut at a limit
//     (TestCallsComeOnlyFromUncutAnswers).
//   - Breaking the loop over a stream cancels the request behind it
//     (TestClientKeepsTheLawsOfModel in each provider).
//
// Values are immutable after construction and may be shared by goroutines; a
// Request may be read by many as long as nobody writes it. Not promised: that
// two providers report the same usage or stop reasons for the same answer.
package model
