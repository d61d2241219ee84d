// Package bus is the message bus of a session: the server that the session embeds or the
// server of others that it uses, the connections to them, the courier of the agents' mail,
// and the long texts that travel beside it. It does not know who answers requests over it.
//
//	b := bus.New(scope, bus.Options{Session: info, Store: store, Wake: wake})
//	err := b.Start()            // in the process that owns the session
//	err = b.Serve(api, members) // then other processes are let in
//	conn, err := b.Conn(ctx)    // from any goroutine: waits until the bus is up
//	err = b.Stop()
//
// A process that only takes part calls Join with its connection instead of Start.
//
// The laws:
//
//   - The socket opens after the last handler answers, so that nobody gets in who would
//     ask in vain (TestTheSocketOpensAfterTheLastHandler).
//   - Stop is idempotent, waits for what the bus has started, and may come before Start
//     (TestStopMayComeBeforeStart).
//   - A long message has arrived when its whole text is on the receiver's disk
//     (TestALongMessageReachesAnotherProcess), and a text that is not what its name says
//     is never taken (TestAWrongObjectIsNotTakenForAMessage).
//   - What nobody waits for any more is taken off the server, while the owner's bus is up
//     (TestTheOwnersBusSweepsObjects), and nothing that somebody needs is
//     (TestObjectsOnTheirWayAreNeeded).
package bus
