package agent

import "context"

// Isolation is the directory of one incarnation of an isolated agent.
type Isolation struct {
	Dir string
	// Release releases the directory when the agent's last process has ended. If the
	// agent left changes, the directory is kept and returned; nil means that it was
	// removed. Release may be called again after a crash.
	Release func(context.Context) (*KeptDir, error)
}
