// Package node is what every process of a session has: the permission rules that
// its agents are judged by, and the tools that they are given.
//
//	rules, err := node.NewRules(node.RulesOptions{Deny: []string{"Bash(rm:*)"}})
//	policy := rules.Fill(permission.Policy{Mode: permission.Default, Dirs: dirs})
//	offered := slices.DeleteFunc(node.ToolNames(), rules.Denies)
//
// Laws:
//
//   - A rule that an answer adds is recorded before it counts (TestAGrantCountsOnceItIsRecorded).
//   - A tool that is denied as a whole is not offered (TestAToolThatIsDeniedAsAWholeIsNotOffered).
package node
