package turn

import (
	"context"
	"errors"
	"fmt"

	"github.com/actorswarm/swarm/agent"
)

// The causes with which a turn is cancelled.
var (
	ErrInterrupted = errors.New("interrupted by the user")
	ErrStopped     = errors.New("stopped")
	ErrKilled      = errors.New("ended by the user")
	ErrShutdown    = errors.New("the session is shutting down")
	ErrOverBudget  = errors.New("over budget")
	ErrSuperseded  = errors.New("superseded by a newer incarnation")
	ErrTimedOut    = errors.New("timed out")
	// ErrRuntime marks the failure of an agent that the runtime, not its model or a tool,
	// caused. The recorded reason begins with its text.
	ErrRuntime = errors.New("given up")
)

// StoppedBy returns ErrStopped with the name of who stopped the agent.
func StoppedBy(name string) error { return fmt.Errorf("%w by %s", ErrStopped, name) }

// ShutDownBy returns the cause for a member that agreed to end: ErrStopped, for good.
func ShutDownBy(name string) error { return shutDown(name) }

type shutDown string

func (s shutDown) Error() string        { return "shut down by " + string(s) }
func (s shutDown) Is(target error) bool { return target == ErrStopped }

// StoppedWith returns the cause for a child whose parent's turn was cut: the cause of
// the parent if the user cut it, and otherwise that the parent stopped the child.
func StoppedWith(parent string, cause error) error {
	if errors.Is(cause, ErrInterrupted) || errors.Is(cause, ErrKilled) {
		return cause
	}
	return fmt.Errorf("%w, which was cut: %v", StoppedBy(parent), cause)
}

// outcomeOf returns the outcome of a turn that failed with err under ctx. open is true if
// the turn has not ended and continues after a restart.
func outcomeOf(ctx context.Context, err error) (o agent.Outcome, open bool) {
	cause := context.Cause(ctx)
	switch {
	case cause == nil && errors.Is(err, ErrOverBudget):
		return agent.OverBudget, false
	case cause == nil:
		return agent.Failed, false
	case errors.Is(cause, ErrInterrupted):
		return agent.Interrupted, false
	case errors.Is(cause, ErrStopped), errors.Is(cause, ErrKilled):
		return agent.Stopped, false
	case errors.Is(cause, ErrOverBudget):
		return agent.OverBudget, false
	case errors.Is(cause, ErrTimedOut):
		return agent.TimedOut, false
	default: // shutdown, superseded, or a context of the caller
		return "", true
	}
}
