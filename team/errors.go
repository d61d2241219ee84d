package team

import (
	"errors"
	"fmt"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/mailbox"
)

// ErrNoSession is the error of Sessions.Reach for an address of no session.
var ErrNoSession = errors.New("there is no such session")

// UnreachableSessionError reports an address of a session that cannot be reached from here.
type UnreachableSessionError struct {
	To  string
	Why string // "" if no session is reached from here
}

func (e *UnreachableSessionError) Error() string {
	if e.Why != "" {
		return fmt.Sprintf("nothing leads to %s: %s", e.To, e.Why)
	}
	return fmt.Sprintf("%s is another session, and this one has no way to it; ask the user to pass the message on with: swarm send --session ID", e.To)
}

// RemoteAgentError reports a step of a protocol with an agent that lives in the process of
// another, where such steps must be taken.
type RemoteAgentError struct {
	Name string
	With mailbox.AgentID // for whom it works there
}

func (e *RemoteAgentError) Error() string {
	return fmt.Sprintf("%s lives in another process and gets texts only from here; %s, for which it works, can end it or decide about its plan, and the user ends it with: swarm stop or swarm kill", e.Name, e.With)
}

// ErrSelf is the error of a message to its own sender.
var ErrSelf = errors.New("this is you: write to somebody else")

// IsUnknown reports whether an error is that of a name of no agent.
func IsUnknown(err error) bool {
	return errors.As(err, new(*UnknownAgentError)) || errors.As(err, new(*UnknownTeamError))
}

// ControlError reports a control message by an agent that may not interrupt the receiver.
type ControlError struct{ From, To string }

func (e *ControlError) Error() string {
	return fmt.Sprintf("%s may not send control messages to %s, only the user, the lead and who started it may; send it with class steer", e.From, e.To)
}

// KindError reports a structured message that no model may send.
type KindError struct{ Kind mailbox.Kind }

func (e *KindError) Error() string {
	return fmt.Sprintf("there is no message of type %q to send; there are shutdown_request, shutdown_response and plan_approval_response", e.Kind)
}

// EndedError reports a member that has ended, so that a broadcast does not reach it.
type EndedError struct{ Name, Reason string }

func (e *EndedError) Error() string {
	return fmt.Sprintf("%s has ended (%s); a message to it alone wakes it, if anything does", e.Name, e.Reason)
}

// IncarnationError reports the address of a past incarnation of an agent.
type IncarnationError struct {
	Name            string
	Wanted, Present uint32 // incarnations
}

func (e *IncarnationError) Error() string {
	return fmt.Sprintf("%s@%d is not there: %s lives for the %d. time; write to %s if you mean it as it is now", e.Name, e.Wanted, e.Name, e.Present, e.Name)
}

// SupersededError reports a request of a program that another program has replaced.
type SupersededError struct{ Name string }

func (e *SupersededError) Error() string {
	return fmt.Sprintf("another program has joined as %s: join again, or under another name", e.Name)
}

// UnknownAgentError reports a message to an unknown name.
type UnknownAgentError = agent.UnknownError

// ErrAlone is the error of a broadcast without receivers.
var ErrAlone = errors.New("there is nobody else in the session to write to")
