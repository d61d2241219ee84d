// Package teamfile reads teams that are kept as files: who is in them and what
// is on their list at first. docs/teams.md describes the form.
//
//	place := teamfile.Place{Dir: dir, Home: home}
//	t, err := place.Load("release") // .claude/teams/release.yaml, or a path
//	for _, m := range t.Members {
//		fmt.Println(m.Name, m.Type)
//	}
//
// Laws:
//
//   - A file is taken whole or not at all: everything that is wrong in it is reported
//     at once, each with its line (TestEverythingWrongIsToldAtOnceWithItsLine).
//   - A key that is not known is an error: a misspelt limit is no limit
//     (TestEverythingWrongIsToldAtOnceWithItsLine).
//   - Nearer files win: the project's over the user's
//     (TestTheProjectsFileWinsOverTheUsers).
package teamfile
