// Package registry knows which agents there are: by which names they go, which
// tool calls made them, and who works for whom.
//
//	r := registry.New(store, policy)
//	if err := r.Reserve(spec); err != nil {
//		return err // the name is taken, or the session has too many agents
//	}
//	...             // make the agent; Unreserve if that fails
//	r.Named("ann")  // the agents of that name
//	r.Workers(id)   // the agents that work for an agent
//
// It starts nothing and waits for nothing: all of it follows from the store. One
// lock guards it, under which nobody else is called but the store.
package registry
