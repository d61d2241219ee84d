package actors

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// ErrShutDown is returned by a session that is shutting down.
var ErrShutDown = errors.New("the session is shutting down")

// ErrUnattended is returned for a question in a session where no person answers.
var ErrUnattended = errors.New("unattended: nobody can be asked here")

// LaunchError reports an agent whose process did not start. Nothing of it is left.
type LaunchError struct {
	Name string
	Err  error
}

func (e *LaunchError) Error() string {
	return fmt.Sprintf("%s was not started, its process gave no sign of life: %v", e.Name, e.Err)
}

func (e *LaunchError) Unwrap() error { return e.Err }

// RunningError reports a call that would continue an agent that has not ended.
type RunningError struct{ Name string }

func (e *RunningError) Error() string {
	return fmt.Sprintf("%s has not ended: write to it with SendMessage", e.Name)
}

// AmbiguousNameError reports a name that several agents have.
type AmbiguousNameError struct {
	Name  string
	Teams []string // in which an agent has it
}

func (e *AmbiguousNameError) Error() string {
	var all []string
	for _, team := range e.Teams {
		all = append(all, team+"/"+e.Name)
	}
	return fmt.Sprintf("several agents are named %q: say which, as %s", e.Name, strings.Join(all, " or "))
}

// FinalError reports an agent that cannot be woken again.
type FinalError struct {
	Name   string
	Reason string
}

func (e *FinalError) Error() string {
	return fmt.Sprintf("%s cannot be woken again (%s); start a new agent for more work", e.Name, e.Reason)
}

// DeferredError is why a session ended that a hook has ended at a call: the call waits,
// and is decided anew when the session continues.
type DeferredError struct {
	ID, Tool string
	Input    json.RawMessage
}

func (e *DeferredError) Error() string {
	return fmt.Sprintf("a hook has deferred a call of %s; decide it by: swarm resume", e.Tool)
}
