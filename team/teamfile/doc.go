// Package teamfile reads teams that are kept as files: who is in them and what
// is on their list at first. docs/teams.md describes the form.
//
// Laws:
//
//   - A file is taken whole or not at all: everything that is wrong in it is told
//     at once, each with its line (TestEverythingWrongIsToldAtOnceWithItsLine).
//   - A key that is not known is an error: a misspelt limit is no limit
//     (TestEverythingWrongIsToldAtOnceWithItsLine).
//   - Nearer files win: the project's over the user's
//     (TestTheProjectsFileWinsOverTheUsers).
package teamfile
