// Package defedit checks, formats and creates files of agent definitions; it is
// behind the commands that lint and edit them. Package defs reads them.
//
//	report, err := defedit.Lint([]string{".claude/agents"}, defedit.Checks{})
//	src, err := defs.ReadFile(path)
//	formatted, err := defedit.Format(path, src, defs.Project)
//	err = defedit.Write(path, formatted, true)
//
// Laws:
//
//   - Formatting changes no meaning: the formatted file parses to the same
//     definition, with the same bytes of the body and every unknown field, or Format
//     returns an error with the reason if it does not (FuzzFormat, TestFormatKeepsEveryMeaning).
//   - Formatting is idempotent (FuzzFormat).
//   - Formatting drops nothing that a person wrote: comments stay above or after
//     their field, and an entry that has no effect because an earlier one has
//     the same name becomes a comment (TestFormatDropsNothing).
//   - A file is replaced as a whole or not at all, and only if the caller allows it
//     (TestWriteReplacesOnlyWithForce, TestWriteIsAtomic).
//   - Only files of the user or the project are edited; others are refused with the
//     reason (TestOnlyUserAndProjectFilesAreEdited).
//   - A finding about a repair shows the corrected line in the form that Format
//     writes (TestLintShowsTheCorrectedLine).
//
// All functions may be called from any goroutine. If two write the same file at the
// same time, the file has the text of one of them.
package defedit
