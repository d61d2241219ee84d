// Package protocol holds two state machines that the members of a team and their
// lead agree on: how a member is shut down, and how its plan is approved. It is pure:
// Next takes an event and returns the next state and the effect that the caller must
// carry out.
//
//	var s protocol.Shutdown
//	s, effect, err := s.Next(protocol.Ask{…})
//	if err == nil {
//		carryOut(effect)
//	}
//
// Laws:
//
//   - A shutdown that was requested ends. A member may object to it once; it cannot
//     refuse a later request, and each request has a deadline
//     (TestAShutdownAlwaysEnds).
//   - One decision approves a plan: that of the lead of record or the user,
//     about the newest request, while it is open. Every other decision is an
//     error and changes nothing (TestOneAuthorisedDecisionOpensTheGate).
//   - A repeated event changes nothing, so that a sender that lost its connection may
//     send it again (TestRepeatedEventsChangeNothing).
package protocol

import "errors"

// Why an event is refused.
var (
	ErrNoRequest    = errors.New("there is no such request")
	ErrWrongID      = errors.New("the request has another id")
	ErrLate         = errors.New("the request is decided already")
	ErrNotRefusable = errors.New("the member has objected once and cannot refuse again")
	ErrUnauthorized = errors.New("only the lead of record or the user decides")
	ErrNotPlanning  = errors.New("the agent is not in plan mode")
)
