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

// A KeyError reports a request in the name of a member that was not proven to be its own.
type KeyError struct {
	Name    string
	Session string
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("nothing proves that this program is %q: the name needs its token, in SWARM_TOKEN or a file that SWARM_TOKEN_FILE names; the user gets one by swarm mcp config %s --session %s",
		e.Name, e.Name, e.Session)
}

// CommandError reports a request that a session accepts from its user and not from commands
// of agents.
type CommandError struct{ Verb string }

func (e *CommandError) Error() string {
	return fmt.Sprintf("this was started by an agent, and %q is for the user: ask the user to do it", e.Verb)
}
