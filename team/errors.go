package team

import (
	"errors"
	"fmt"

	"github.com/actorswarm/swarm/mailbox"
)

// ErrSelf is the answer to a letter to its own sender.
var ErrSelf = errors.New("this is you: write to somebody else")

// IsUnknown reports an error of a name that means no agent.
func IsUnknown(err error) bool {
	return errors.As(err, new(*UnknownAgentError)) || errors.As(err, new(*UnknownTeamError))
}

// ControlError reports a control message of one who may not send any: it would
// cut the work of an agent that is not its own.
type ControlError struct{ From, To string }

func (e *ControlError) Error() string {
	return fmt.Sprintf("%s may not send control messages to %s, only the user, the lead and who started it may; send it with class steer", e.From, e.To)
}

// KindError reports a structured message that no model may send.
type KindError struct{ Kind mailbox.Kind }

func (e *KindError) Error() string {
	return fmt.Sprintf("there is no message of type %q to send; there are shutdown_request, shutdown_response and plan_approval_response", e.Kind)
}

// EndedError reports a member that a broadcast does not reach.
type EndedError struct{ Name, Reason string }

func (e *EndedError) Error() string {
	return fmt.Sprintf("%s has ended (%s); a message to it alone wakes it, if anything does", e.Name, e.Reason)
}

// PastError reports an address of a past life of an agent.
type PastError struct {
	Name            string
	Wanted, Present uint32 // incarnations
}

func (e *PastError) Error() string {
	return fmt.Sprintf("%s@%d is not there: %s lives for the %d. time; write to %s if you mean it as it is now", e.Name, e.Wanted, e.Name, e.Present, e.Name)
}
