// Package tui is the interactive terminal of a session: a person talks with the lead
// and with all other agents, sees what they do, and answers their questions.
//
//	err := tui.Run(ctx, session, tui.Options{
//		Session: id, In: os.Stdin, Out: os.Stdout, Getenv: os.Getenv,
//		Paint: paint, Lines: lines,
//	})
//	if errors.Is(err, tui.ErrDetached) {
//		… // the user left; the agents go on
//	}
//
// Laws:
//
//   - It owns no agent. It reads events and calls a Session; leaving it changes
//     nothing about an agent unless the user asked for it
//     (TestLeavingDoesNothingToAnyAgent).
//   - Esc ends the foreground turn and nothing else, however often it is pressed
//     (TestEscEndsTheForegroundTurnAndNothingElse).
//   - Typed text is not lost: the history keeps what a key removes
//     (TestHistoryKeepsTextThatAKeyRemoves).
//   - Consent is never given by accident. Only an explicit line answers a question,
//     and never a line that was begun before the question was on the screen
//     (TestOnlyYesAloneIsConsent, TestLineBegunBeforeAQuestionDoesNotAnswerIt).
//   - Control characters in what agents write are removed before it is shown
//     (TestOutputOfAgentsIsCleaned).
//
// Finished output goes into the terminal's own scrollback; only what may still change
// is redrawn. On a terminal that cannot move its cursor (TERM=dumb) the same lines
// are read and written in sequence.
package tui
