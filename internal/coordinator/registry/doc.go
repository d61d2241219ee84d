// Package registry knows the agents of a session: their names, the tool calls that
// started them, and which works for which.
//
//	r := registry.New(store, policy)
//	if err := r.Reserve(spec); err != nil {
//		return err // the name is taken, or the session has too many agents
//	}
//	...             // make the agent, or Unreserve
//	r.Named("ann")  // the agents of that name
//	r.Workers(id)   // the agents that work for an agent
//
// It starts nothing and waits for nothing: all of it follows from the store. One lock
// guards it; under that lock it calls the store only.
package registry
