// Package state derives the state of an agent from its own events, never from the
// passing of time.
//
//	s := state.State{Name: state.Resolving, Since: now, Progress: now}
//	for fact := range facts {
//		s = s.Next(fact, false, time.Now())
//	}
//	fmt.Println(s.Name, s.Detail) // in_tool Bash
//
// Laws:
//
//   - A state follows from the facts alone (TestStateFollowsFromTheFacts).
//
//   - Waiting is no progress (TestProgressIsWorkNotTime).
package state

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/team/protocol"
)

// The names of states. Those after idle are of agents that do not run; an agent
// that has ended is in the state that its last turn's outcome names.
const (
	Resolving  = "resolving"   // it exists and its first turn has not begun
	Queued     = "queued"      // for a slot
	Starting   = "starting"    // its directory, tools and model are made
	Thinking   = "thinking"    // a model request is under way
	Compacting = "compacting"  // a summary is made of the older part of its conversation
	InTool     = "in_tool"     // Detail names the tool
	Waiting    = "waiting"     // Detail is for what: permission, answer, approval, child, budget or mail
	BackingOff = "backing_off" // Detail is the HTTP status, or why
	Idle       = "idle"
	Paused     = "paused"  // its turn is open and continues with the session
	Parked     = "parked"  // its host has failed; the next work starts another; Detail is why
	Stuck      = "stuck"   // its process no longer reports; Detail is since when
	Outside    = "outside" // a program: it is not known what it does
)

// What an agent can wait for.
const (
	WaitsForPermission = "permission" // of a person, for a call
	WaitsForAnswer     = "answer"     // of a person, to a question of its own
	WaitsForApproval   = "approval"   // of its plan
	WaitsForChild      = "child"
	WaitsForBudget     = "budget" // requests of others in flight hold what is left
	WaitsForMail       = "mail"   // it rests, and agents that it started in the background are at work
)

// State is the state of an agent, as it follows from its own events.
type State struct {
	Name   string
	Detail string // the tool, what is waited for, by whom it was stopped, the reason
	Since  time.Time
	// Progress is when the agent's work last moved on: a piece of an answer, a
	// call's begin or end. A parent that waits for a child moves on with it.
	Progress time.Time

	calls []model.Call // that have begun and have no result; never changed in place
}

// Next returns the state after a fact. An agent that lasts is idle between its
// turns.
func (s State) Next(f event.Fact, lasts bool, now time.Time) State {
	to := s
	switch f := f.(type) {
	case event.StateChanged:
		to.Name, to.Detail = f.To, f.Reason
	case event.Requested:
		to.Name, to.Detail, to.calls = Thinking, "", nil
	case event.Compacting:
		to.Name, to.Detail = Compacting, f.Trigger
	case event.Delta, event.Answered, event.Compacted:
		if _, answers := f.(event.Delta); s.Name != Compacting || !answers {
			to.Name, to.Detail = Thinking, ""
		}
	case event.BackingOff:
		to.Name, to.Detail = BackingOff, whyBackingOff(f.Backoff)
	case event.CallStarted:
		to.calls = append(slices.Clip(s.calls), f.Call)
		to.Name, to.Detail = InTool, f.Call.Name
	case event.Denied:
		to = s.afterCall()
	case event.CallFinished:
		to = s.without(f.Call.ID)
	case event.TurnEnded:
		to.Name, to.Detail, to.calls = f.Outcome, f.Reason, nil
		if lasts {
			to.Name = Idle
		}
	default:
		return s // it is no fact of the agent's own work
	}
	if to.Name != s.Name || to.Detail != s.Detail {
		to.Since = now
	}
	if to.Name != BackingOff {
		to.Progress = now
	}
	return to
}

// without returns the state after a call has its result. A question that another
// call has asked stands.
func (s State) without(id string) State {
	left := slices.DeleteFunc(slices.Clone(s.calls), func(c model.Call) bool { return c.ID == id })
	began := len(left) < len(s.calls)
	s.calls = left
	if began && s.Name == Waiting && (s.Detail != WaitsForChild || len(left) > 0) {
		return s
	}
	return s.afterCall()
}

// afterCall returns the state that follows from the calls alone.
func (s State) afterCall() State {
	s.Name, s.Detail = Thinking, ""
	if n := len(s.calls); n > 0 {
		s.Name, s.Detail = InTool, s.calls[n-1].Name
		if s.Detail == "Agent" || s.Detail == "Task" { // it has begun and is not back
			s.Name, s.Detail = Waiting, WaitsForChild
		}
	}
	return s
}

func whyBackingOff(b model.Backoff) string {
	if b.Status != 0 {
		return strconv.Itoa(b.Status)
	}
	return b.Reason
}

// Resting returns the state of an agent that does not run, from its record.
func Resting(l agent.Record) State {
	s := State{Name: Idle, Detail: l.Reason, Since: l.Active, Progress: l.Active}
	switch {
	case l.TurnOpen:
		s.Name = Paused
	case IsResting(l):
		s.Name, s.Detail = Waiting, WaitsForChild
	case l.Closed:
		s.Name = string(l.Outcome)
	case l.Outcome == agent.Failed && strings.HasPrefix(l.Reason, turn.ErrRuntime.Error()+": "):
		s.Name = Parked
	case l.Spec.Role == agent.Program:
		s.Name, s.Detail = Outside, ""
	case l.Plan.Phase == protocol.PlanPending:
		s.Name, s.Detail = Waiting, WaitsForApproval
	}
	for _, prefix := range []string{turn.ErrStopped.Error() + " ", turn.ErrTimedOut.Error() + ": ", turn.ErrRuntime.Error() + ": "} {
		s.Detail = strings.TrimPrefix(s.Detail, prefix) // the name of the state has it
	}
	return s
}

// ObserveChild completes the state of an agent with the state of a child.
func (s *State) ObserveChild(l agent.Record, child State) {
	switch l.Spec.Role {
	case agent.Foreground:
		if s.Name == Waiting && s.Detail == WaitsForChild && child.Progress.After(s.Progress) {
			s.Progress = child.Progress
		}
	case agent.Background:
		if s.Name == Idle && l.TurnOpen {
			s.Name, s.Detail = Waiting, WaitsForMail
		}
	}
}

// IsResting reports whether an agent's last turn was completed and its end is
// still to come.
func IsResting(l agent.Record) bool {
	return !l.Closed && !l.TurnOpen && l.Turns > l.Reported && l.Outcome == agent.Completed && (l.Spec.Role == agent.Foreground || l.Spec.Role == agent.Background)
}
