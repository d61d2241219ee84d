// Package watchdog notices that the work of an agent stands still. It observes the facts
// of a turn, and calls one function when a deadline has passed:
//
//	ctx, cancel := context.WithCancelCause(ctx)
//	w := watchdog.New(agent.Deadlines{}.For(role), cancel)
//	defer w.Stop()
//	w.Begin()
//	w.Observe(fact, false) // for each fact of the turn
//	w.Stream(e)            // for each event of a request in flight
//	<-ctx.Done()           // context.Cause(ctx) is a *TimeoutError if a deadline has passed
//
// Laws:
//
//   - Progress counts, not signs of life: a connection that is kept open does not
//     move a deadline (TestADeadlineEndsWhatStandsStillAndNothingElse).
//
//   - A wait that the API asked for, in a queue or with a status, does not count
//     (TestADeadlineEndsWhatStandsStillAndNothingElse).
//
//   - Nothing is reported after Stop (TestADeadlineEndsWhatStandsStillAndNothingElse).
package watchdog
