// Package peer sends mail to other sessions and receives theirs. It reaches sessions of
// this machine through their sockets, and sessions elsewhere through a NATS server that
// both use. For each other session there is a member of this one, whose mailbox holds
// the mail on disk until the other session has accepted or refused it.
//
//	peers := peer.New(scope, peer.Options{Record: record, Store: store, Lead: lead, Post: post})
//	err := peers.Start()                 // continues with the mail of an earlier run
//	reply, err := peers.Receive(from, m) // a message of another session
//	stop, err := peers.Serve(conn)       // receives messages through an external NATS server
//	peers.Stop()
//
// A relay for each other session sends its mail. The Allowlist asks the user before the
// first message to a session elsewhere, the Quarantine before a held message is delivered,
// and the limiter bounds the messages of others.
//
// The laws:
//
//   - A message arrives once, even if one of the sessions is killed meanwhile
//     (TestAMessageToAKilledSessionArrivesOnce,
//     TestAMessageOverABridgeToAKilledSessionArrivesOnce).
//   - No message is sent to a session elsewhere before the user has consented
//     (TestABridgeNeedsTheUsersConsent).
//   - A session elsewhere cannot write as another (TestASessionElsewhereCannotSpeakAsAnother).
//   - A held message, and the user's answer about it, survive a kill
//     (TestAHeldMessageSurvivesAKill).
//   - The messages of another session are bounded in number, and repeated texts refused
//     (TestWhatOtherSessionsSayIsBounded).
package peer
