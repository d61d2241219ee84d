// Package session is what is kept of a session: its record, the file session.json, where
// its files are, and how to list and find sessions. It opens nothing and runs nothing;
// package swarm does.
//
//	all, err := session.List(stateDir, "")           // newest first
//	info, err := session.Find(stateDir, dir, "3f2a") // by the beginning of its id
//	fmt.Println(info.Prompt, info.Open())
//
// Whoever runs a session holds a File, through which alone its record changes:
//
//	record := session.NewFile(info)
//	err := record.Update(func(i *session.Info) error { i.Model = "opus"; return nil })
//
// The laws:
//
//   - A change is on disk before anybody sees it, and one that cannot be written never
//     happened (TestAnUpdateThatIsNotWrittenDoesNotHappen).
//   - Changes come one after the other, and a reader has the whole of the one or of the
//     other (TestUpdatesFollowEachOther).
//   - A record that was returned never changes: slices of it are replaced, not written
//     (TestUpdatesFollowEachOther).
//   - A directory that holds no valid record is no session, and hides no other one
//     (TestAListLeavesOutWhatIsNoSession).
package session
