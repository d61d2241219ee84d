// Package archive reads a session from its journals: its agents with their mail, its
// teams and its tasks. It also lets the user write to the agents while no process runs
// the session. A session whose agents have processes of their own has a journal for each
// of these besides its own.
//
//	s := archive.New(info, archive.Options{})
//	defer s.Close()
//	agents, err := s.Agents(ctx) // wraps journal.ErrLocked while a process has the session open
//	mail, err := s.Inbox(ctx, "ann")
//
// The same queries serve a session that runs: the [Query] of its [Tree] then asks the
// processes instead of reading their files.
//
// Laws:
//
//   - Reading changes no file (TestPeekChangesNoFile).
//   - Agents in other processes are shown as those in the session's own, whether they
//     run or not (TestTheOwnerShowsWhatIsInOtherProcesses, TestNestedAgentsAreFoundInTheirJournals).
//   - A message that is sent here is on disk when Send returns, and counts as unread
//     until its receiver has read it (TestWhatIsSentToASessionAtRestWaitsThere).
//   - No process can run a session while its journal is open here, and what does not
//     need the journal does not wait for it (TestASessionInUseIsLocked).
//   - While one process reads a journal, another that must write it waits for it, but
//     not for ever (TestAWriterWaitsForAReader).
package archive
