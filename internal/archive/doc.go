// Package archive reads a session from its journals: who its agents are, their
// mail, teams and tasks, and lets the user write to them while nobody runs the
// session. A session whose agents run in processes of their own has a journal for
// each of these besides its own.
//
//	s := archive.New(info, archive.Options{})
//	defer s.Close()
//	agents, err := s.Agents(ctx) // wraps journal.ErrLocked while a process has the session open
//	mail, err := s.Inbox(ctx, "ann")
//
// The same queries serve a session that runs: a [Tree] is asked with a [Query] that
// puts them to the processes instead of to their files.
//
// Laws:
//
//   - Looking changes no file (TestPeekChangesNoFile).
//   - Agents in other processes are shown as those in the session's own, whether they
//     run or not (TestTheOwnerShowsWhatIsInOtherProcesses, TestNestedAgentsAreFoundInTheirJournals).
//   - A message that is sent here is on disk when Send returns, and counts as unread
//     until its receiver has read it (TestWhatIsSentToASessionAtRestWaitsThere).
//   - Nobody can run a session while it is in use here, and what does not need its journal
//     does not wait for it (TestASessionInUseIsLocked).
//   - While one process reads a journal, another that must write it waits for it, but
//     not for ever (TestAWriterWaitsForAReader).
package archive
