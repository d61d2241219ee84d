// Package session holds the record of a session on disk, the file session.json: it reads
// and changes records, knows the paths of a session's files, and lists and finds sessions.
// It opens and runs none; package swarm does.
//
//	all, err := session.List(stateDir, "")           // newest first
//	info, err := session.Find(stateDir, dir, "3f2a") // by the beginning of its id
//	fmt.Println(info.Prompt, info.Open())
//
// The process that runs a session changes its record through a File:
//
//	record := session.NewFile(info)
//	err := record.Update(func(i *session.Info) error { i.Model = "opus"; return nil })
//
// Laws:
//
//   - A change is on disk before any reader sees it, and one that cannot be written has no
//     effect (TestAnUpdateThatIsNotWrittenDoesNotHappen).
//   - Changes are made one after the other, and a reader sees each as a whole
//     (TestUpdatesFollowEachOther).
//   - A record that was returned never changes: its slices are replaced, not written
//     (TestUpdatesFollowEachOther).
//   - A directory without a valid record is no session, and does not hide others
//     (TestAListLeavesOutWhatIsNoSession).
package session
