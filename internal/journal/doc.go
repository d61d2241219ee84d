// Package journal keeps the append-only log of one node: a directory of segment
// files in which every change is made durable before it is acknowledged. A record
// belongs to a stream, a name that its owner chooses; the journal does not read the
// data. Records of all streams lie in one order.
//
//	j, err := journal.Open(dir, journal.Options{})
//	err = j.Live(func(r journal.Record) error { return apply(r) }) // rebuild the state
//	ticket := j.Append("agent/bob", kind, data)                    // returns at once
//	err = ticket.Wait()                                            // durable now
//	err = j.Checkpoint(func(snap func(stream string, data []byte)) error {
//		snap("agent/bob", state)
//		return nil
//	})
//
// # Laws
//
// Each law has the test named behind it.
//
//   - Durable before Wait returns. When [Ticket.Wait], [Journal.Commit] or
//     [Journal.Sync] returns nil, the bytes have been written and synced.
//     (TestLawDurableBeforeWaitReturns)
//   - One order for all. The order of the Append calls is the order in the
//     file, of [Record.Seq], of [Journal.Live] and of [Journal.History], across
//     streams. Seq rises but has gaps, because the journal's own records use
//     numbers too. (TestLawOneOrderForAll)
//   - Group commit. One write and one sync serve all records that were appended
//     while the previous sync was under way. (TestLawGroupCommit)
//   - Only a suffix can be lost. A batch cut short by a crash is cut at its
//     first missing record; the bytes from there on are kept as
//     "<segment>.torn" and reported. A batch that was never acknowledged may come
//     back whole or as a prefix, never with a hole.
//     (TestLawTornTailIsCutAndKeptAside, TestLawABatchHasNoHoles)
//   - Damage is reported. Durable bytes that cannot be read do not stop the
//     reader: records behind them are still read, and place, length and number of
//     the lost records are in the [Report] or, for old segments, in the errors of
//     [Journal.History]. (TestLawDamageInTheMiddleIsReported)
//   - A failed write or sync stops the journal for good. Nothing is
//     acknowledged after it, even if the disk recovers.
//     (TestLawFailedSyncStopsForGood, TestLawFailedWriteStopsForGood)
//   - What Live returns is durable. Open writes and syncs the last batch again, so that
//     an owner may act on a record that Live has returned.
//     (TestLawWhatLiveReturnsIsDurable)
//   - Reading changes nothing. With [Options.ReadOnly] no byte of the directory
//     changes except those of the lock file. (TestLawReadingChangesNothing)
//   - One writer. A second Open of the directory fails with [ErrLocked].
//     (TestLawOneWriter)
//   - Opening costs what is live. Open and Live read only the
//     segments from the newest complete checkpoint on, however many lie before it.
//     (TestLawOpeningCostsWhatIsLive)
//   - A snapshot replaces every earlier record of its stream, wherever they
//     lie. (TestLawSnapshotReplacesEarlierRecords)
//   - Only a complete checkpoint counts. One that a crash cut short, or that
//     has an unreadable snapshot, is skipped in favour of the previous one.
//     (TestLawIncompleteCheckpointIsPassedOver,
//     TestLawDamagedCheckpointIsPassedOver)
//
// # What an owner must do
//
// The owner of a stream appends its records and its snapshot under one lock of
// its own, so that a snapshot reflects exactly the records before it. A stream
// that the owner leaves out of a checkpoint has ended: Live returns only those of its
// records that were appended after the checkpoint began.
//
// # What is not promised
//
// A batch is not a transaction: after a crash a prefix of what was never
// acknowledged may be there. Two equal appends are two records. If a durable
// last batch is damaged before the next one is written and without a Close
// between, it cannot be distinguished from a torn one and is cut (and reported) as such.
// A journal whose end was cut off or zeroed exactly between two records looks like
// a shorter one. Old segments are never deleted. Checksums detect accidents, not
// forgery.
//
// Every method may be called from any goroutine, except that Live must be called
// between Open and the first Append.
package journal
