// Package nolink opens files through no symbolic link, so that a decision about a path
// and what is done to the file cannot mean two places.
//
// Resolve follows the links of a path once. Somebody decides about what it returns, and
// Open, Root and Walk open exactly that:
//
//	real, err := nolink.Resolve("/project/docs/a.md")
//	// is real allowed?
//	f, err := nolink.Open(real)
//	root, err := nolink.Root(filepath.Dir(real), true) // to write in the directory
//	err = nolink.Walk(filepath.Dir(real), func(name string, …) error { … })
//
// Laws:
//
//   - What is opened is what the path names without any link, or nothing, whatever is
//     renamed or linked meanwhile (TestNothingIsOpenedThroughALink,
//     TestALinkThatFlipsLeadsNowhere).
//   - A walk meets nothing but what is below its directory (TestAWalkStaysBelow).
//   - Resolve returns a path without a link, also where the file or a link's target does
//     not exist (TestResolveFollowsLinksThatLeadNowhere).
package nolink
