// Package defedit looks after the files of agent definitions: it checks them,
// writes them in one form and makes new ones.
//
// Laws:
//
//   - Formatting changes no meaning: the formatted file parses to the same
//     definition, byte for byte the same body and every unknown field included,
//     or Format refuses and says so (FuzzFormat, TestFormatKeepsEveryMeaning).
//   - Formatting twice is formatting once (FuzzFormat).
//   - Nothing that a person wrote is dropped: comments stay above or behind
//     their field, and an entry that has no effect because an earlier one has
//     the same name becomes a comment (TestFormatDropsNothing).
//   - A file is replaced as a whole or not at all, and only if the caller says
//     that it may be (TestWriteNeverOverwritesUnasked, TestWriteLeavesNoHalf).
//   - Only what belongs to the user or the project is edited; the others are
//     refused with the reason (TestOnlyUserAndProjectFilesAreEdited).
//   - A finding about a repair carries the corrected line, as Format would write
//     it (TestLintShowsTheCorrectedLine).
//
// All functions may be called from any goroutine. Two that write the same file
// at the same time leave the text of one of them.
package defedit
