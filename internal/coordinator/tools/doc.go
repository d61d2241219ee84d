// Package tools holds the tools with which an agent works with other agents and with
// the user: Agent, TaskStop, TaskOutput, AskUserQuestion, EnterPlanMode and ExitPlanMode.
//
//	set := tool.NewSet(
//		tools.NewAgent(spawner, 250), // each takes an interface of what it uses
//		tools.NewStop(stopper),
//		tools.NewQuestion(asker),
//	)
//	verdict := permission.Decide(policy, request)
//	if tools.Asks(name) {
//		verdict.Behavior = permission.Allow // the call asks the user by itself
//	}
//
// A tool has its schema, its description, the check of its input and the texts of its
// results; the coordinator does what a call asks for. Schemas and descriptions are part of
// every request, so their bytes do not change between releases without need.
//
// Laws:
//
//   - A schema describes what is decoded (TestSchemasDescribeWhatIsDecoded).
//   - A call ends only agents that its caller has started, or that those have started,
//     never the lead or the caller (TestACallStopsOnlyAgentsBelowItsCaller).
//   - A question that cannot be asked, or that offers no choice, is refused and changes
//     nothing (TestAQuestionThatCannotBeAskedIsRefused).
//   - A plan that does not reach the lead is withdrawn, so that it can be shown again
//     (TestAPlanThatDoesNotReachTheLeadIsWithdrawn).
package tools
