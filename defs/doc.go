// Package defs reads agent definitions: Markdown files with YAML frontmatter,
// the JSON of --agents, and the ones built into the binary.
//
// Laws:
//
//   - One broken file never blocks another: Load returns everything that could
//     be read, and a Problem with file, line and reason for everything else
//     (TestLoadOneBrokenFileNeverBlocksTheOthers).
//   - Nothing is repaired, ignored or shadowed by accident in silence: a value
//     that is not valid YAML is repaired in at most three passes (strict YAML,
//     quoting of single values, recovery line by line), and each repair is a
//     warning that shows the line as it was understood
//     (TestParseShowsEveryRepair).
//   - A field that limits power fails closed. A tools list or an isolation that
//     cannot be understood fails the definition; it never means "all" or "none
//     needed" (TestParseFailsClosedOnLimits).
//   - A source of higher rank replaces a definition of the same name in a lower
//     one; within the project the directory nearest to the working directory
//     wins (TestLoadHigherSourceWins, TestLoadNearestProjectDirectoryWins).
//   - The result does not depend on directory order or on scheduling: the same
//     files give the same Set and the same bytes (TestLoadIsDeterministic).
//   - Time and memory grow linearly with the size of the input; a file above
//     MaxFileSize is refused (FuzzParse, BenchmarkParseHostile).
//
// Not promised: that two reads of a changing directory agree, and that every
// known field is in force. Fields nothing acts on are kept in Extra with a
// warning. All functions may be called from any goroutine; a Set is not
// modified after Load and may be shared.
package defs
