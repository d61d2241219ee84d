// Package hook runs lifecycle hooks: commands that settings files name for an
// event. A hook gets the event as JSON on standard input and reports by its exit
// code and its output.
//
//	set, errs := hook.Parse(files)
//	for _, o := range set.Run(ctx, hook.Call{Event: "WorktreeCreate", Input: input, Dir: dir, Env: env}) {
//		if o.Err != nil || o.Code == 2 {
//			… // the hook failed, or blocks the event
//		}
//	}
//
// Laws:
//
//   - Levels add up: the hooks of all files run, in parallel; equal ones run
//     once (TestLevelsAddUp).
//   - An untrusted file runs no hooks and disables none
//     (TestUntrustedFilesRunNothing).
//   - Every hook that matches has one Outcome. A hook that cannot be read or run has
//     an outcome with an error, so that a guard is never skipped silently
//     (TestInvalidHookIsAnOutcome).
//   - Exit code 2 blocks, whatever the hook printed (TestExitCodes).
//   - When Run returns, no process of the hooks' process groups is running
//     (TestNothingOutlivesAHook).
//
// The caller decides what an outcome means for its event. Only handlers of type
// command are run; other types, and asynchronous handlers, have outcomes with an
// error. A handler with an "if" rule is for tool events only; there are none here
// yet, so it does not run.
//
// A Set may be used from any goroutine.
package hook
