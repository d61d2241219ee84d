// Package natsd runs the embedded NATS server of a process and connects to it: in
// memory, over a Unix socket, or over TCP and WebSocket for users with keys. No
// other package imports nats-server.
//
//	s, err := natsd.Start(ctx, natsd.Options{StoreDir: dir})
//	defer s.Stop()
//	conn, err := s.Conn("session")       // in memory, may do everything
//	err = s.ServeUnix(path)              // for processes of the same user
//	other, err := natsd.DialUnix(path)   // in such a process
//
// Laws:
//
//   - No listener unless asked: without Options.Listen and WebSocket there is no TCP
//     port, and never a monitoring port (TestNoListenerUnlessAsked).
//   - Only users come in through a listener, with a key whose secret half nobody else
//     has (TestOnlyUsersComeInThroughAListener). A user publishes and subscribes
//     only where its subjects allow it; every other attempt is reported
//     (TestAUserMayDoWhatItsSubjectsSayAndNoMore).
//   - A request for a WebSocket that names an origin, as those of pages in a browser do,
//     is refused (TestNoPageOpensAWebSocket).
//   - Stored data survives: what JetStream acknowledged is there after a restart on
//     the same directory (TestStoredSurvivesRestart). A power cut may lose what was
//     stored in the last five seconds (TestChangesAreSyncedEveryFiveSeconds), so
//     this store is a buffer, and the journal is the record.
//   - Only the same user: the socket of ServeUnix has mode 0600, in a directory of
//     mode 0700 that the user owns. Both sides refuse a peer with another user id
//     (TestUnixSocketIsOnlyForItsUser, TestUnixSocketTurnsAnotherUserAway,
//     TestAnotherUsersSocketIsNotDialed). Options.Authorize decides about the process
//     of each connection before it can send anything
//     (TestAVisitorMayDoWhatItsJudgeSaysAndNoMore).
//   - The socket of a dead owner is replaced, that of a living one is not
//     (TestStaleSocketIsReplaced, TestSecondServerIsRefused).
//   - Stop ends everything: connections from Conn are closed, the socket is removed,
//     its lock is free, and no goroutine is left. It is idempotent and may be called
//     concurrently (TestStopEndsEverything).
//   - Start fails with a clear error if the disk is nearly full
//     (TestNearlyFullDiskIsReported).
//
// The server handles no signals and never exits the process. A Server may be used by
// several goroutines.
package natsd
