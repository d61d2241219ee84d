// Package control is what the user of a session does with its agents, in whichever
// process each of them lives: see them, interrupt, compact and end them, and answer what
// they ask.
//
//	agents := control.New(control.Options{Scope: scope, Agents: coordinator, Roster: roster, Store: store, Detach: detach, Begin: begin})
//	status, err := agents.Find("reviewer")
//	err = agents.End(ctx, "reviewer", turn.ErrKilled)
//	gone, err := agents.Down(ctx, nil, grace) // all but the lead
//
// Agents are named by name, team/name or id. With a fleet, agents that live in the
// processes of others are reached through it.
//
// Laws:
//
//   - Down without names ends everybody but the lead (TestDownWithoutNamesSparesTheLead).
//   - A lead at rest is not interrupted, so that it takes the reports that it waits for
//     (TestALeadAtRestIsNotInterrupted).
package control
