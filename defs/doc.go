// Package defs reads agent definitions: Markdown files with YAML frontmatter
// (including those of plugins), the JSON of settings files and of --agents, and the
// definitions built into the binary.
//
//	set, err := defs.Load(defs.Options{Cwd: cwd, Home: home})
//	for _, p := range set.Problems {
//		… // file, line and reason
//	}
//	reviewer, ok := set.Lookup("reviewer")
//	tools, err := defs.ResolveTools(reviewer, available, defs.ToolOptions{})
//
// Laws:
//
//   - One broken file never blocks another: Load returns everything that could
//     be read, and a Problem with file, line and reason for everything else
//     (TestLoadOneBrokenFileNeverBlocksTheOthers).
//   - Nothing is repaired silently: a value
//     that is not valid YAML is repaired in at most three passes (strict YAML,
//     quoting of single values, recovery line by line), and each repair is a
//     warning that shows the line as it was understood
//     (TestParseShowsEveryRepair).
//   - A field that limits power fails closed. A definition whose tools list or
//     isolation cannot be understood is refused; the field never means "all" or "none
//     needed" (TestParseFailsClosedOnLimits).
//   - A source of higher rank replaces a definition of the same name in a lower
//     one; within the project the directory nearest to the working directory
//     wins, and within one source files win over settings
//     (TestEveryPairOfSources, TestLoadNearestProjectDirectoryWins).
//   - A source grants only what it may grant: a plugin brings no mode,
//     hooks or servers unless the organisation enables it, and the files of an
//     untrusted repository may narrow what an agent can do, never
//     widen it (TestPlugins, TestUntrustedFilesMayNarrowButNotWiden).
//   - Every known field is kept, and one table says which fields this runtime
//     acts on; one that is given and has no effect is a warning
//     (TestEveryFieldIsInTheTable, TestExplainShowsEveryField).
//   - A refresh finds what a first reading would find
//     (TestRefreshAgreesWithLoad), and a Watcher reports a change within two seconds
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
// at 10,000 files this costs 12 ms a second, no limit of watches applies, and new
// folders need no special treatment.
package defs
