package actors

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/team/protocol"
)

// The names of states. Those after idle are of agents that do not run; an agent
// that has ended is in the state that its last turn's outcome names.
const (
	stateResolving  = "resolving"   // it exists and its first turn has not begun
	stateQueued     = "queued"      // for a place among the running
	stateStarting   = "starting"    // its directory, tools and model are made
	stateThinking   = "thinking"    // a model request is under way
	stateCompacting = "compacting"  // a summary is made of the older part of its conversation
	stateInTool     = "in_tool"     // Detail names the tool
	stateWaiting    = "waiting"     // Detail says for what: permission, answer, approval, child, budget or mail
	stateBackingOff = "backing_off" // Detail is the HTTP status, or why
	stateIdle       = "idle"
	statePaused     = "paused"  // its turn is open and goes on with the session
	stateParked     = "parked"  // its host was given up, until there is work for another; Detail says why
	stateStuck      = "stuck"   // its process says nothing any more; Detail says since when
	stateOutside    = "outside" // a program of somebody's: nothing is known of what it does
)

// What an agent can wait for.
const (
	waitsForPermission = "permission" // of a person, for a call
	waitsForAnswer     = "answer"     // of a person, to a question of its own
	waitsForApproval   = "approval"   // of its plan
	waitsForChild      = "child"
	waitsForBudget     = "budget" // requests of others in flight hold what is left
	waitsForMail       = "mail"   // it rests, and agents that it started in the background are at work
)

// State is where an agent is in its life, as its own events tell.
type State struct {
	Name   string
	Detail string // the tool, what is waited for, by whom it was stopped, the reason
	Since  time.Time
	// Progress is when the agent's work last moved on: a piece of an answer, a
	// call's begin or end. A parent that waits for a child moves on with it.
	Progress time.Time

	calls []model.Call // that have begun and have no result; never changed in place
}

// next is the state after a fact. An agent that lasts is idle between its turns.
func (s State) next(f event.Fact, lasts bool, now time.Time) State {
	to := s
	switch f := f.(type) {
	case event.StateChanged:
		to.Name, to.Detail = f.To, f.Reason
	case event.Requested:
		to.Name, to.Detail, to.calls = stateThinking, "", nil
	case event.Compacting:
		to.Name, to.Detail = stateCompacting, f.Trigger
	case event.Delta, event.Answered, event.Compacted:
		if _, answers := f.(event.Delta); s.Name != stateCompacting || !answers {
			to.Name, to.Detail = stateThinking, ""
		}
	case event.BackingOff:
		to.Name, to.Detail = stateBackingOff, whyBackingOff(f.Backoff)
	case event.CallStarted:
		to.calls = append(slices.Clip(s.calls), f.Call)
		to.Name, to.Detail = stateInTool, f.Call.Name
	case event.Denied:
		to = s.afterCall()
	case event.CallFinished:
		to = s.without(f.Call.ID)
	case event.TurnEnded:
		to.Name, to.Detail, to.calls = f.Outcome, f.Reason, nil
		if lasts {
			to.Name = stateIdle
		}
	default:
		return s // it does not tell of the agent's own work
	}
	if to.Name != s.Name || to.Detail != s.Detail {
		to.Since = now
	}
	if to.Name != stateBackingOff {
		to.Progress = now
	}
	return to
}

// without is the state after a call has its result. A question that another
// call has asked stands.
func (s State) without(id string) State {
	left := slices.DeleteFunc(slices.Clone(s.calls), func(c model.Call) bool { return c.ID == id })
	began := len(left) < len(s.calls)
	s.calls = left
	if began && s.Name == stateWaiting && (s.Detail != waitsForChild || len(left) > 0) {
		return s
	}
	return s.afterCall()
}

// afterCall is what the agent does when nothing more is known than its calls.
func (s State) afterCall() State {
	s.Name, s.Detail = stateThinking, ""
	if n := len(s.calls); n > 0 {
		s.Name, s.Detail = stateInTool, s.calls[n-1].Name
		if s.Detail == "Agent" || s.Detail == "Task" { // it has begun and is not back
			s.Name, s.Detail = stateWaiting, waitsForChild
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

// resting is the state of an agent that does not run, from its transcript.
func resting(l agent.Record) State {
	s := State{Name: stateIdle, Detail: l.Reason, Since: l.Active, Progress: l.Active}
	switch {
	case l.TurnOpen:
		s.Name = statePaused
	case isResting(l):
		s.Name, s.Detail = stateWaiting, waitsForChild
	case l.Closed:
		s.Name = string(l.Outcome)
	case l.Outcome == agent.Failed && strings.HasPrefix(l.Reason, turn.ErrGivenUp.Error()+": "):
		s.Name = stateParked
	case l.Spec.Role == agent.Outside:
		s.Name, s.Detail = stateOutside, ""
	case l.Plan.Phase == protocol.PlanPending:
		s.Name, s.Detail = stateWaiting, waitsForApproval
	}
	for _, said := range []string{turn.ErrStopped.Error() + " ", turn.ErrTimedOut.Error() + ": ", turn.ErrGivenUp.Error() + ": "} {
		s.Detail = strings.TrimPrefix(s.Detail, said) // the state says so
	}
	return s
}

// moveTo says where the agent is now when none of its facts does. It may be
// called from any goroutine of the agent.
func (h *host) moveTo(name, detail string) {
	h.follow(event.StateChanged{To: name, Reason: detail})
}

// follow moves the agent's state on.
func (h *host) follow(f event.Fact) {
	h.stating.Lock()
	defer h.stating.Unlock()
	was := h.state
	h.state = was.next(f, h.lasts, time.Now())
	if h.state.Name != was.Name {
		h.c.publish(h.t, event.StateChanged{From: was.Name, To: h.state.Name, Reason: h.state.Detail})
	}
}

func (h *host) now() State {
	h.stating.Lock()
	defer h.stating.Unlock()
	return h.state
}

// Status is a look at one agent.
type Status struct {
	Life    agent.Record
	State   State
	Running bool
	Unread  int
	Cost    budget.Cost // of the agent's own requests
	// Subtree is what the agent and all below it have used.
	Subtree Use
}

// Use is what several agents have used together.
type Use struct {
	Usage model.Usage
	Cost  budget.Cost
}

// Status returns a look at every agent of the session, oldest first.
func (c *Coordinator) Status() []Status {
	var all []Status
	for _, t := range c.opts.Store.All() {
		s := Status{Life: t.Life(), Unread: len(t.Unread())}
		s.Cost = s.Life.Cost(c.opts.Prices)
		s.Subtree = Use{s.Life.Usage, s.Cost}
		s.State = c.atRest(s.Life)
		if h := c.hosts.get(t.ID()); h != nil {
			if s.Running = h.running.Load(); s.Running {
				s.State = h.now()
			}
		}
		c.sight(&s)
		all = append(all, s)
	}
	seeChildren(all)
	return all
}

// atRest is the state of an agent that does not run.
func (c *Coordinator) atRest(l agent.Record) State {
	s := resting(l)
	if s.Name == statePaused && c.hosts.get(l.Spec.ID) != nil {
		s.Name, s.Detail = stateResolving, ""
	}
	return s
}

// Complete completes what is known of agents of which some were looked at in
// other processes.
func Complete(all []Status) []Status {
	for i := range all {
		all[i].Subtree = Use{all[i].Life.Usage, all[i].Cost}
	}
	seeChildren(all)
	return all
}

// seeChildren completes what is known of parents by what is known of their
// children, from the deepest up.
func seeChildren(all []Status) {
	at := map[mailbox.AgentID]int{}
	order := make([]int, len(all))
	for i, s := range all {
		at[s.Life.Spec.ID], order[i] = i, i
	}
	slices.SortStableFunc(order, func(a, b int) int { return all[b].Life.Spec.Depth - all[a].Life.Spec.Depth })
	for _, i := range order {
		child := all[i]
		parent, ok := at[child.Life.Spec.Parent]
		if !ok {
			continue
		}
		sum := &all[parent].Subtree
		sum.Usage, sum.Cost = sum.Usage.Add(child.Subtree.Usage), sum.Cost.Add(child.Subtree.Cost)
		if !child.Life.Closed {
			all[parent].State.seeChild(child)
		}
	}
}

func (s *State) seeChild(child Status) {
	switch child.Life.Spec.Role {
	case agent.Foreground:
		if s.Name == stateWaiting && s.Detail == waitsForChild && child.State.Progress.After(s.Progress) {
			s.Progress = child.State.Progress
		}
	case agent.Background:
		if s.Name == stateIdle && child.Life.TurnOpen {
			s.Name, s.Detail = stateWaiting, waitsForMail
		}
	}
}
