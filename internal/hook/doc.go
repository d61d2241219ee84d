// Package hook runs lifecycle hooks: commands, URLs, prompts and tools that settings files
// name for an event. A hook gets the event as JSON and reports by its exit code and its
// output.
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
//   - A matcher that does not compile blocks (TestMatcherThatDoesNotCompileBlocks), and
//     equal hooks of two matchers both run (TestEqualHooksOfTwoMatchersBothRun).
//   - A handler with an "if" rule runs for calls that the rule covers
//     (TestConditionsAreForCoveredCalls), one with once until it has succeeded
//     (TestOnceEndsWithTheFirstSuccess).
//   - Asynchronous hooks are started and not awaited
//     (TestAsynchronousHooksAreNotAwaited).
//   - An HTTP hook succeeds with 2xx and an empty body or a JSON object, within its time
//     limit (TestHTTPHandlers).
//   - Events that nothing fires are named (TestEventsThatNothingFiresAreNamed), and so are
//     settings of handlers that have no effect (TestSettingsWithoutEffectAreNamed).
//   - A field of a hook's JSON with a wrong type is left out, and the others hold
//     (TestEachFieldOfAnOutputCountsByItself).
//   - Prompts decide by the model's answer, and tools of MCP servers get what they name of
//     the event (TestAnswersDecide, TestToolsOfServersGetTheEvent).
//   - When Run returns, nothing that a hook has started is running, also what has left its
//     session (TestNothingOutlivesAHook), but where the kernel keeps no scopes
//     (internal/sandbox). Hooks see neither credentials of the user nor what Call.Place
//     hides (TestHooksSeeNothingHidden).
//
// The caller decides what an outcome means for its event.
//
// A Set may be used from any goroutine.
package hook
