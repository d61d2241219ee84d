package team

import (
	"errors"
	"fmt"
	"strings"
)

// ErrSelf is the answer to a letter to its own sender.
var ErrSelf = errors.New("this is you: write to somebody else")

// ControlError reports a control message of one who may not send any: it would
// cut the work of an agent that is not its own.
type ControlError struct{ From, To string }

func (e *ControlError) Error() string {
	return fmt.Sprintf("%s may not send control messages to %s, only the user, the lead and who started it may; send it with class steer", e.From, e.To)
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

// AbroadError reports an address of another session, which nothing leads to from
// here.
type AbroadError struct{ To string }

func (e *AbroadError) Error() string {
	return fmt.Sprintf("%s is another session, and this one has no way to it; ask the user to pass the message on with: swarm send --session ID", e.To)
}

// abroad says whether an address is of another session (agent-system spec §4.2).
func abroad(to string) bool {
	return strings.HasPrefix(to, "uds:") || strings.HasPrefix(to, "bridge:")
}
