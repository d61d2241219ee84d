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
	// ErrGivenUp is why an agent failed that the runtime, not its model or a
	// tool, could not run. The record of the end begins with it.
	ErrGivenUp = errors.New("given up")
)

// StoppedBy is ErrStopped with who did it.
func StoppedBy(name string) error { return fmt.Errorf("%w by %s", ErrStopped, name) }

// ShutDownBy is why a member ends that was asked to: ErrStopped, and for good.
func ShutDownBy(name string) error { return shutDown(name) }

type shutDown string

func (s shutDown) Error() string        { return "shut down by " + string(s) }
func (s shutDown) Is(target error) bool { return target == ErrStopped }

// StoppedWith is why a child ends whose parent's turn was cut: with what the
// user did, or else stopped by its parent, whose trouble is not its own.
func StoppedWith(parent string, cause error) error {
	if errors.Is(cause, ErrInterrupted) || errors.Is(cause, ErrKilled) {
		return cause
	}
	return fmt.Errorf("%w, which was cut: %v", StoppedBy(parent), cause)
}

// outcomeOf says how a turn ended that failed with err under ctx; open is true
// when it has not ended and goes on after a restart.
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
	default: // shutdown, superseded, or a context from outside
		return "", true
	}
}
