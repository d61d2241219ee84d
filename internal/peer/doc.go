// Package peer passes mail to other sessions and takes theirs. Sessions of this machine
// are reached through their sockets, sessions elsewhere through a NATS server that both
// use. For each there is a member of this session, in whose mailbox the mail lies, on
// disk, until the other session has taken or refused it.
//
//	peers := peer.New(scope, peer.Options{Record: record, Store: store, Lead: lead, Post: post})
//	err := peers.Start()                 // goes on with the mail of an earlier run
//	reply, err := peers.Receive(from, m) // a message of another session
//	stop, err := peers.Serve(conn)       // and those that come through a server of others
//	peers.Stop()
//
// A relay for each session sends its mail on; the Allowlist asks the user before the first
// message leaves for a session elsewhere, the Quarantine before one that is held comes
// in, and the limiter bounds what others send.
//
// The laws:
//
//   - A message arrives once, also if either session is killed on the way
//     (TestAMessageToAKilledSessionArrivesOnce,
//     TestAMessageOverABridgeToAKilledSessionArrivesOnce).
//   - Nothing leaves for a session elsewhere before the user has consented
//     (TestABridgeNeedsTheUsersConsent).
//   - A session elsewhere cannot write as another (TestASessionElsewhereCannotSpeakAsAnother).
//   - A message that is held, and what the user says about it, survive a kill
//     (TestAHeldMessageSurvivesAKill).
//   - What others send is bounded in number and does not repeat itself
//     (TestWhatOtherSessionsSayIsBounded).
package peer
