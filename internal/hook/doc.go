// Package hook runs lifecycle hooks: commands that settings files name for an
// event, and that are told of it as JSON on standard input.
//
// Laws:
//
//   - Levels add up: the hooks of all files run, side by side; equal ones run
//     once (TestLevelsAddUp).
//   - A file that is not trusted runs nothing and switches nothing off
//     (TestUntrustedFilesRunNothing).
//   - Every hook that matches has one Outcome. What cannot be read or run is an
//     outcome with an error, so that a guard is never left out in silence
//     (TestWhatCannotRunIsAnOutcome).
//   - Exit code 2 blocks, whatever the hook printed (TestExitCodes).
//   - When Run returns, nothing of the hooks' process groups runs
//     (TestNothingOutlivesAHook).
//
// What an outcome means for its event is the caller's to decide. Handlers of
// type command are run; those of other types, and those that nobody waits for,
// are outcomes with an error. A handler with an "if" rule runs on tool events
// only, of which there are none here yet, so it does not run.
//
// A Set may be used from any goroutine.
package hook
