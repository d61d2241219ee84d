// Package attach is a connection to a session of another process that survives that
// process: when the owner of the session dies, a link starts another owner, or finds the
// one that somebody else has started, and goes on.
//
//	r, err := swarm.Dial(state, info)
//	w, err := r.Hello(ctx)
//	l := attach.New(ctx, r, w.Types, func(ctx context.Context) (*swarm.Remote, error) {
//		return attach.TakeOver(ctx, info, dial, attach.Serve)
//	})
//	defer l.Close()
//	err = l.Begin() // l.Events tells from now on what happens
//
// Laws:
//
//   - The death of an owner ends no link: requests wait for the next owner
//     (TestAnAttachedTerminalTakesOverFromADeadOwner).
//   - Whoever is first with the journal owns the session; the others find it, and a
//     session that nobody can run is an error in time (TestTakeOverFindsWhoeverIsFirst,
//     TestTakeOverGivesUpInTime).
//   - Leaving stops nothing (TestTwoTerminalsSeeEverythingAndOnesExitChangesNothing).
package attach
