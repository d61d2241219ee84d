// Package ask keeps the questions of a session's agents until a person answers
// them.
//
// An agent opens a question and waits; a user interface lists what is open and
// answers by id:
//
//	ticket := queue.Open(ask.Request{Question: q, Record: record})
//	resolution, err := ticket.Wait(ctx) // the agent
//
//	for _, q := range queue.List() { // the person
//		err := queue.Answer(q.ID, "user", event.Answer{Allow: true})
//	}
//
// Laws:
//
//   - A question is resolved once: answered, expired, withdrawn because its asker
//     left, or covered by a rule that was granted meanwhile. Every later answer is
//     an error (TestQuestionIsResolvedOnce).
//   - An answer is recorded before anybody learns of it; one that cannot be
//     recorded leaves the question open (TestUnrecordedAnswerLeavesTheQuestionOpen).
//   - Expiry is an answer: it is recorded like one (TestExpiryIsRecorded).
//   - An answer for always resolves every open question that it covers
//     (TestAlwaysResolvesCoveredQuestions).
//
// The queue keeps nothing on disk: an asker whose process died asks again, under
// the same id.
package ask
