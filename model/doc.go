// Package model holds the conversation between an agent and a language model:
// messages, blocks, requests, events, usage and errors, and the Model interface
// that providers implement.
//
//	request := &model.Request{
//		Model:    "claude-…",
//		System:   []json.RawMessage{model.EncodeSystem("You review Go code.")},
//		Messages: []model.Message{model.UserMessage(model.Text("review main.go"))},
//	}
//	answer, err := model.Complete(ctx, client, request) // or range over client.Stream
//	request.Messages = append(request.Messages, answer.Message)
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
//     last event, and only when the provider said that the answer was complete. An
//     incomplete stream ends in an error of kind Truncated instead
//     (TestClientKeepsTheLawsOfModel in each provider).
//   - No call from an incomplete answer. Answer.Calls returns only calls whose input
//     arrived whole, in an answer that did not end at a limit
//     (TestCallsComeOnlyFromUncutAnswers).
//   - Breaking the loop over a stream cancels its request
//     (TestClientKeepsTheLawsOfModel in each provider).
//
// Values are immutable after construction and may be shared by goroutines; a
// Request may be read by several as long as none writes it. Not promised: that
// two providers report the same usage or stop reasons for the same answer.
package model
