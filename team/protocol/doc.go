// Package protocol holds what the members of a team and those above them agree
// on as state machines: how a member is shut down, and how its plan is approved.
// It is pure: an event and a state give the next state and what is to be done.
//
// Laws:
//
//   - A shutdown that was asked for ends. A member may object to it once; what it
//     is asked after that it cannot refuse, and a deadline stands over each
//     request (TestAShutdownAlwaysEnds).
//   - A plan opens its gate by one decision: of the lead of record or the user,
//     about the newest request, while that is open. Every other decision is an
//     error and changes nothing (TestOneAuthorisedDecisionOpensTheGate).
//   - An event that comes again changes nothing, so that whoever was cut off may
//     say it again (TestRepeatedEventsChangeNothing).
package protocol

import "errors"

// Why an event is refused.
var (
	ErrNoRequest    = errors.New("there is no such request")
	ErrWrongID      = errors.New("the request has another id")
	ErrLate         = errors.New("the request is settled already")
	ErrNotRefusable = errors.New("the member has objected once and cannot refuse again")
	ErrUnauthorized = errors.New("only the lead of record or the user decides")
	ErrNotPlanning  = errors.New("the agent is not in plan mode")
)
