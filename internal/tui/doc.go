// Package tui is the interactive session: a person at a terminal talks with
// the lead and all other agents, sees what they do, and answers what they ask.
//
// Laws:
//
//   - It owns no agent. It reads events and calls a Session; when it ends,
//     nothing has been done to an agent that was not asked for
//     (TestLeavingDoesNothingToAnyAgent).
//   - Esc ends the foreground turn and nothing else, however often it is pressed
//     (TestEscEndsTheForegroundTurnAndNothingElse).
//   - What was typed is not lost: no key takes text away that the history does
//     not give back (TestNoKeyTakesTextAwayThatTheHistoryDoesNotGiveBack).
//   - Consent is never an accident. Only a line that says so answers a question,
//     and never a line that was begun before the question was on the screen
//     (TestOnlyABareYesIsConsent, TestALineThatWasBegunBeforeTheQuestionIsNotItsAnswer).
//   - What agents write is cleaned before it is shown (TestWhatAgentsSayIsCleaned).
//
// Finished output goes into the terminal's own scrollback; only what still
// changes is drawn again. On a terminal that cannot move its cursor (TERM=dumb)
// the same lines are read and written one after another.
package tui
