// Package defs reads agent definitions: Markdown files with YAML frontmatter,
// those of plugins, the JSON of settings files and of --agents, and the ones
// built into the binary.
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
//     wins, and within one source files win over settings
//     (TestEveryPairOfSources, TestLoadNearestProjectDirectoryWins).
//   - Nobody gives what they have no right to give: a plugin brings no mode,
//     hooks or servers unless the organisation enables it, and the files of a
//     repository that is not trusted may narrow what an agent can do, never
//     widen it (TestPlugins, TestUntrustedFilesMayNarrowButNotWiden).
//   - Every known field is kept, and one table says which of them this runtime
//     acts on; one that is given and not in force is a warning
//     (TestEveryFieldIsInTheTable, TestExplainShowsEveryField).
//   - Reading again finds what a first reading would find
//     (TestRefreshAgreesWithLoad), and a Watcher shows it within two seconds
//     (TestWatchShowsAChangeWithinTwoSeconds).
//   - The result does not depend on directory order or on scheduling: the same
//     files give the same Set and the same bytes (TestLoadIsDeterministic).
//   - Time and memory grow linearly with the size of the input; a file above
//     MaxFileSize is refused (FuzzParse, BenchmarkParseHostile).
//
// Not promised: that two reads of a changing directory agree. Unknown fields are
// kept in Extra with a warning. All functions may be called from any goroutine;
// a Set is not modified after Load and may be shared, a Loader may not.
//
// A Watcher compares times and sizes instead of asking the system for events:
// at 10,000 files a look costs 12 ms a second, there is no limit of watches to
// hit, and folders that come into being later need no care.
package defs
