// Package rulefile adds permission rules to a settings file and removes them, and leaves
// the rest of the file as its author wrote it.
//
//	f := rulefile.File{Dir: "/home/ann/shop", Name: ".claude/settings.local.json"}
//	line, err := f.Add("allow", "Bash(go test:*)")
//	…
//	removed, err := f.Remove(func(list, rule string) bool { return rule == "Bash(go test:*)" })
//
// Laws:
//
//   - Every other byte stays: order, indentation, line ends, byte order mark, keys that
//     nobody knows (TestOtherBytesStay).
//   - A file that is not valid JSON, or not UTF-8, is not changed
//     (TestAFileThatCannotBeReadIsNotChanged).
//   - The file appears as a whole, and no link leads the write out of Dir
//     (TestNoLinkLeadsOut).
//   - Of several changes at once none is lost (TestConcurrentChangesAddUp).
package rulefile
