// Package journal keeps the one append-only log of a node.
//
// A record belongs to a stream, a name its owner chose; the journal looks at
// nothing inside. Records of all streams lie in one order in segment files.
//
// # Laws
//
// Each law has the test named behind it.
//
//   - Durable before Wait returns. When [Ticket.Wait], [Journal.Commit] or
//     [Journal.Sync] answer nil, the bytes were written and synced.
//     (TestLawDurableBeforeWaitReturns)
//   - One order for all. The order of the Append calls is the order in the
//     file, of [Record.Seq], of [Journal.Live] and of [Journal.History], across
//     streams. Seq rises but has gaps: the journal's own marks take numbers.
//     (TestLawOneOrderForAll)
//   - Group commit. One write and one sync serve everybody who appended while
//     the one before was under way. (TestLawGroupCommit)
//   - What was lost is a suffix. A batch cut short by a crash is cut at its
//     first missing record; the bytes from there on are kept aside as
//     "<segment>.torn" and reported. A batch nobody was told about may come
//     back whole or as a prefix, never with a hole.
//     (TestLawTornTailIsCutAndKeptAside, TestLawABatchHasNoHoles)
//   - Damage is reported, never silent. Bytes that cannot be read although
//     they were durable end nothing: records behind them are still read, and
//     place, length and number of lost records are in the [Report] or, for old
//     segments, in the errors of [Journal.History].
//     (TestLawDamageInTheMiddleIsReported)
//   - A failed write or sync stops the journal for good. Nothing is
//     acknowledged after it, whatever the disk says later.
//     (TestLawFailedSyncStopsForGood, TestLawFailedWriteStopsForGood)
//   - What Live has shown stays. Open writes and syncs the last batch again,
//     so that an owner can act on a record it was shown.
//     (TestLawWhatLiveShowedStays)
//   - A look changes nothing. With [Options.ReadOnly] no byte of the directory
//     changes but the lock file's. (TestLawALookChangesNothing)
//   - One writer. A second Open of the directory is refused with [ErrLocked].
//     (TestLawOneWriter)
//   - Opening costs what is alive. Open and Live read the segments from the
//     newest complete checkpoint on, however many lie before.
//     (TestLawOpeningCostsWhatIsAlive)
//   - A snapshot replaces every earlier record of its stream, wherever they
//     lie. (TestLawSnapshotReplacesEarlierRecords)
//   - Only a complete checkpoint counts. One that a crash cut short, or that
//     has an unreadable snapshot, is passed over in favour of the one before.
//     (TestLawIncompleteCheckpointIsPassedOver,
//     TestLawDamagedCheckpointIsPassedOver)
//
// # What an owner must do
//
// The owner of a stream appends its records and its snapshot under one lock of
// its own, so that a snapshot reflects exactly the stream's records before it.
// A stream the owner leaves out of a checkpoint is over: of its records only
// those appended after the checkpoint began are shown by Live again.
//
// # What is not promised
//
// A batch is not a transaction: after a crash a prefix of what was never
// acknowledged may be there. Two equal appends are two records. If a durable
// last batch is damaged before the next one is written and without a Close
// between, it cannot be told from a torn one and is cut (and reported) as such.
// A journal whose end was cut off or zeroed exactly between two records looks like
// a shorter one.
// Old segments are never deleted. Checksums find accidents, not forgery.
//
// Every method may be called from any goroutine, except that Live belongs
// between Open and the first Append.
package journal
