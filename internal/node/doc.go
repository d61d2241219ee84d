// Package node is what every process of a session has, whether it owns the session or
// runs one teammate: the journal, the agents that live here, their definitions, rules,
// tools and prompts, and the lead if it lives here.
//
//	rules, err := node.NewRules(node.RulesOptions{Deny: []string{"Bash(rm:*)"}})
//	types, err := node.LoadDefinitions(node.DefinitionsOptions{Sources: sources, Rules: rules})
//	n, err := node.Open(ctx, node.Options{Session: id, Path: path, Rules: rules, Definitions: types, …})
//	err = n.Start(scope, node.Services{Isolate: …, Receipt: …}, fail)
//	err = n.Wake() // what was cut goes on
//	…
//	err = errors.Join(n.Shutdown(ctx), n.Kits.Close()); end(cause); err = n.Close()
//
// What a node needs of the process around it comes as Services, so that it does not
// know which kind of process that is.
//
// Laws:
//
//   - A rule that an answer adds is recorded before it counts (TestAGrantCountsOnceItIsRecorded).
//   - A tool that is denied as a whole is not offered (TestAToolThatIsDeniedAsAWholeIsNotOffered).
package node
