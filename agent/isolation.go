package agent

import "context"

// Isolation is a directory that belongs to one incarnation of one agent.
type Isolation struct {
	Dir string
	// Release ends it when the agent's last process has ended. What the agent
	// changed is kept and returned; nil means that there was nothing, and that the
	// directory is gone. It may be called again after a crash.
	Release func(context.Context) (*Kept, error)
}
