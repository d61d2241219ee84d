// Package natsd runs the one embedded NATS server of a node and is the only
// importer of nats-server. Its laws, each with the test that bears its name:
//
//   - No listener unless asked: without Options.Listen and WebSocket there is no TCP
//     port, and never a monitoring port (TestNoListenerUnlessAsked).
//   - Only users come in through a listener, by a key whose secret half nobody else
//     has (TestOnlyUsersComeInThroughAListener). A user publishes and subscribes
//     where it may and nowhere else, and what it tries besides is reported
//     (TestAUserMayDoWhatItsSubjectsSayAndNoMore).
//   - Stored survives: what JetStream acknowledged is there after a restart on the
//     same directory (TestStoredSurvivesRestart). A power cut may take what was
//     stored in the last five seconds (TestChangesAreSyncedEveryFiveSeconds): the
//     journal is the truth, not this store.
//   - Only the same user: the socket of ServeUnix is 0600 in a directory of 0700
//     that is the user's own, and a peer of another user id is turned away, on both
//     sides (TestUnixSocketIsOnlyForItsUser, TestUnixSocketTurnsAnotherUserAway,
//     TestAnotherUsersSocketIsNotDialed).
//     Options.Visitor judges the process of each connection before it can say
//     anything (TestAVisitorMayDoWhatItsJudgeSaysAndNoMore).
//   - A dead owner's socket is replaced, a living one's is not
//     (TestStaleSocketIsReplaced, TestSecondServerIsRefused).
//   - Stop ends everything: connections from Conn are closed, the socket is gone
//     and its lock free, no goroutine is left. It is idempotent and may be called
//     concurrently (TestStopEndsEverything).
//   - A disk that is nearly full is an error of Start that says so
//     (TestNearlyFullDiskIsReported).
//
// The server takes no signals and never exits the process. A Server may be used by
// several goroutines.
package natsd
