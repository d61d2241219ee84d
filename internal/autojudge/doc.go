// Package autojudge has a model judge the calls of agents in mode auto: those that rules
// and mode leave open. It decides before a person is asked.
//
//	j := autojudge.New(autojudge.Options{Ask: models.Ask, Instructions: texts})
//	d, err := j.Decide(ctx, autojudge.Agent{Log: transcript.Judging(), Emit: emit, Pause: pause}, call, d, decideAgain)
//	// d.Behavior is Allow, Deny, or Ask as before
//
// The model sees one JSON document: what the user has written, the task, the instructions
// of the project, earlier calls that do more than read, and the call. It never sees
// the result of a tool, the text of the agent, or mail of other agents.
//
// Laws:
//
//   - Only an answer that is one whole verdict allows a call. An answer that is none, that is
//     cut, empty or late, and a model that cannot be reached, leave the call to a person
//     (TestOnlyAVerdictAllows).
//   - What is judged is data in one JSON document, whatever it says (TestTheCaseIsOneDocument). It
//     holds no result of a tool and no text of the agent (TestTheCaseHasNoResults), and the
//     call whole: one that is too long is not judged (TestALongCallIsNotJudged).
//   - A verdict is for the call that was shown. A rule that came meanwhile, or a path that
//     leads elsewhere now, is stronger (TestAVerdictIsForWhatWasShown).
//   - A verdict is on disk, with the model and what it was shown, before it counts
//     (TestVerdictsAreRecordedBeforeTheyCount).
//   - After three denials in a row, or twenty in all, the model is not asked
//     (TestManyDenialsEndTheJudging).
//   - The report of an agent to which the model objects, or that it cannot review, begins with
//     a warning (TestReportsThatAreObjectedToBeginWithAWarning).
package autojudge
