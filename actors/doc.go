// Package actors holds what a program sees of agents at work: the status of each, the
// results of shutdowns, and the errors that a caller branches on.
//
//	for _, s := range session.Agents() {
//		fmt.Println(agent.DisplayName(s.Record.Spec), s.State.Name, s.Subtree.Cost)
//	}
//	result, err := session.Shutdown(ctx, "ben", time.Minute)
//	if errors.As(err, new(*actors.FinalError)) {
//		// it has ended for good and cannot be woken
//	}
//
// The packages below it hold the actor kernel, the states of an agent, and the plan
// from which an agent is started. What runs agents is internal/coordinator.
package actors
