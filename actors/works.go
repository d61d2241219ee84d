package actors

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team/protocol"
)

// worksFor returns the agent that another works for: who woke it, or its parent.
// Over all agents this is a forest below the lead: employer sees to it.
func worksFor(l transcript.Life) mailbox.AgentID { return cmp.Or(l.Woken.By, l.Spec.Parent) }

// hears returns who is told of a background agent's end: whom it works for or,
// as its link says, the nearest above that has not ended.
func (c *Coordinator) hears(l transcript.Life) mailbox.AgentID {
	up := worksFor(l)
	if l.Spec.Link == transcript.Continue {
		return up
	}
	for up != LeadID {
		t, ok := c.opts.Store.Get(up)
		if !ok {
			return LeadID
		}
		above := t.Life()
		if !above.Closed {
			return up
		}
		up = worksFor(above)
	}
	return up
}

// employer returns for whom an agent is to work that by wakes. Nobody comes to
// work for itself, however many stand between: an agent that is woken by one
// that works for it goes on for whom it worked before, and so does one that is woken
// from another process by somebody who is not on record here.
func (c *Coordinator) employer(l transcript.Life, by mailbox.AgentID) mailbox.AgentID {
	for _, candidate := range []mailbox.AgentID{by, l.Spec.Parent} {
		if _, known := c.opts.Store.Get(candidate); known && candidate != turn.User && !c.isBelow(candidate, l.Spec.ID) {
			if candidate == l.Spec.Parent {
				return ""
			}
			return candidate
		}
	}
	return LeadID
}

// isBelow reports whether an agent is another or works for it, directly or not.
func (c *Coordinator) isBelow(id, top mailbox.AgentID) bool {
	for id != "" && id != LeadID {
		if id == top {
			return true
		}
		t, ok := c.opts.Store.Get(id)
		if !ok {
			return false
		}
		id = worksFor(t.Life())
	}
	return id == top
}

// workers returns the agents that work for another, ended ones included.
func (c *Coordinator) workers(id mailbox.AgentID) []*transcript.Transcript {
	c.mu.Lock()
	ids := slices.Sorted(maps.Keys(c.staff[id]))
	c.mu.Unlock()
	var all []*transcript.Transcript
	for _, kid := range ids {
		if t, ok := c.opts.Store.Get(kid); ok && worksFor(t.Life()) == id {
			all = append(all, t)
		}
	}
	return all
}

// expects reports whether an agent will be told of the end of another: one that
// works in the background for it, or for one below it that has ended.
func (c *Coordinator) expects(me *transcript.Transcript) bool { return c.owedBy(me.ID(), me) }

func (c *Coordinator) owedBy(id mailbox.AgentID, me *transcript.Transcript) bool {
	for _, kid := range c.workers(id) {
		if c.owes(kid, me) || kid.Life().Closed && c.owedBy(kid.ID(), me) {
			return true
		}
	}
	return false
}

func (c *Coordinator) owes(kid, me *transcript.Transcript) bool {
	l := kid.Life()
	if kid.OnItsWay(me) {
		return true
	}
	if l.Closed || l.Spec.Role != transcript.Background || c.hears(l) != me.ID() {
		return false
	}
	// One whose host was given up has said so and says no more until it has work.
	return kid.HasWork() || l.Turns > l.Settled && c.lookup(kid.ID()) != nil || me.OnItsWay(kid)
}

// rests says whether an agent that has come to the end of a turn waits for
// agents that work for it. Their reports begin its next turn.
func (h *host) rests(l transcript.Life) bool { return isResting(l) && h.c.expects(h.t) }

// isResting reports whether an agent's last turn was completed and its end is
// still to come.
func isResting(l transcript.Life) bool {
	return !l.Closed && !l.TurnOpen && l.Turns > l.Settled && l.Outcome == transcript.Completed && endsByItself(l.Spec.Role)
}

// endsByItself reports whether an agent ends when its work is done.
func endsByItself(r transcript.Role) bool {
	return r == transcript.Foreground || r == transcript.Background
}

// toEnd returns why an agent is to stop that does not know it yet, or nil.
func (h *host) toEnd() error {
	if s := h.t.Life().Shutdown; s.Phase == protocol.ShutdownEnding {
		return turn.ShutDownBy(h.c.nameOf(s.By))
	}
	return h.orphaned()
}

// orphaned returns why an agent is to stop whose link ties it to one that has
// ended, or nil. It follows from what is recorded, so a crash loses no stop.
func (h *host) orphaned() error {
	l := h.t.Life()
	if l.Spec.Link != transcript.StopWith || l.Spec.Role != transcript.Background || l.Closed || l.Turns == l.Settled {
		return nil
	}
	up, ok := h.c.opts.Store.Get(worksFor(l))
	if !ok {
		return nil
	}
	if above := up.Life(); above.Closed && above.Outcome != transcript.Completed {
		return fmt.Errorf("%w with %s, for which it worked", turn.ErrStopped, DisplayName(above.Spec))
	}
	return nil
}

// ended tells those that an agent's end concerns to look: who waits for it, and
// whom a link ties to it.
func (c *Coordinator) ended(l transcript.Life) {
	c.Look(c.hears(l))
	for _, kid := range c.workers(l.Spec.ID) {
		if !kid.Life().Closed {
			c.Look(kid.ID())
			c.Look(c.hears(kid.Life())) // who inherits the wait
		}
	}
}

// Orphan is an agent that is at work for one that is to end.
type Orphan struct {
	Name string
	Link transcript.Link // what becomes of it
}

// Orphans returns whom the end of an agent leaves behind: those at work in the
// background for it, if it is ended before they are. A process of its own ends with it,
// and so do all that it has started there.
func Orphans(all []Status, id mailbox.AgentID) []Orphan {
	var left []Orphan
	apart := slices.ContainsFunc(all, func(s Status) bool { return s.Life.Spec.ID == id && s.Life.Spec.Where != "" })
	for _, s := range all {
		switch l := s.Life; {
		case worksFor(l) != id, l.Closed:
		case apart:
			left = append(left, Orphan{DisplayName(l.Spec), transcript.StopWith})
		case l.Spec.Role == transcript.Background && l.Turns > l.Settled:
			left = append(left, Orphan{DisplayName(l.Spec), cmp.Or(l.Spec.Link, transcript.Reparent)})
		}
	}
	return left
}

// String says what becomes of the agent.
func (o Orphan) String() string {
	switch o.Link {
	case transcript.StopWith:
		return o.Name + " is stopped with it"
	case transcript.Continue:
		return o.Name + " goes on and reports to it all the same"
	}
	return o.Name + " goes on and reports to the nearest above"
}
