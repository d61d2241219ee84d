// Package node holds what each process of a session has, whether it owns the session or
// runs one teammate: the journal, the agents in this process, their definitions, rules,
// tools and prompts, and the lead if it lives here.
//
//	rules, err := node.NewRules(node.RulesOptions{Deny: []string{"Bash(rm:*)"}})
//	types, err := node.LoadDefinitions(node.DefinitionsOptions{Sources: sources, Rules: rules})
//	n, err := node.Open(ctx, node.Options{Session: id, Path: path, Rules: rules, Definitions: types, …})
//	err = n.Start(scope, node.Services{Isolate: …, Receipt: …}, fail)
//	err = n.Wake() // turns that were cut off continue
//	…
//	err = errors.Join(n.Shutdown(ctx), n.Kits.Close()); end(cause); err = n.Close()
//
// A node does not know which kind of process it is in: what it needs of the process are
// Services.
//
// Laws:
//
//   - A rule that an answer adds is recorded before it applies (TestGrantIsRecordedBeforeItApplies).
//   - A tool that is denied as a whole is not offered (TestDeniedToolIsNotOffered).
package node
