// Package attach connects to a session of another process and survives that process:
// when the owner of the session ends, a Link starts another owner, or finds the one that
// another program has started.
//
//	r, err := swarm.Dial(state, info)
//	w, err := r.Hello(ctx)
//	l := attach.New(ctx, r, w, func(ctx context.Context) (*swarm.Remote, error) {
//		return attach.TakeOver(ctx, info, dial, attach.Serve)
//	})
//	defer l.Close()
//	err = l.Begin() // from now on l.Events has the events of the session
//
// Laws:
//
//   - The end of an owner ends no link: requests wait for the next owner
//     (TestAnAttachedTerminalTakesOverFromADeadOwner).
//   - The process that locks the journal first owns the session, and the others find it.
//     If no process can run the session, TakeOver fails after a time limit
//     (TestTakeOverFindsTheFirstOwner, TestTakeOverGivesUpInTime).
//   - Closing a link does not change the session
//     (TestTwoTerminalsSeeEverythingAndOnesExitChangesNothing).
package attach
