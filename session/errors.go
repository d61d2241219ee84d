package session

import "fmt"

// NotRunningError reports that no process runs a session.
type NotRunningError struct{ ID string }

func (e *NotRunningError) Error() string {
	return fmt.Sprintf("session %s is not running; go on with it by: swarm resume %s", e.ID, e.ID)
}

// BacklogError reports a session to which too many messages are on their way.
type BacklogError struct {
	To      string
	Waiting int
}

func (e *BacklogError) Error() string {
	return fmt.Sprintf("%d messages wait already until %s takes them; write no more before it does", e.Waiting, e.To)
}

// CommandError reports a request that a session accepts from its user and not from commands
// of agents.
type CommandError struct{ Verb string }

func (e *CommandError) Error() string {
	return fmt.Sprintf("this was started by an agent, and %q is for the user: ask the user to do it", e.Verb)
}
