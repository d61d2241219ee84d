// Package view formats what agents do for people: progress line by line, the tree of
// agents, tables of sessions, teams, messages and worktrees, questions. It reads events
// and values and knows neither processes nor commands.
//
//	v := view.NewText(c.ErrScreen(), dir, false, c.Out)
//	shown := view.Follow(ctx, session.Events(), v.See)
//	// … the session runs and is closed …
//	<-shown
//	err := v.Finish(view.Verdict{Result: result})
//
// Laws:
//
//   - A step of an agent is one line, cut to the width of the screen
//     (TestProgressIsOneQuietLinePerStep).
//   - Failures, and calls that need consent, are shown in full
//     (TestFailuresAreShownInFull, TestConsentIsShownInFull).
//   - An event of another process is shown as one of this process
//     (TestEveryFactComesBackFromTheWire).
//   - A name has the colour of its definition, or else the same colour in each run
//     (TestColoursAreThoseOfTheDefinitionOrStable).
package view
