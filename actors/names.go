package actors

import (
	"slices"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// reserve takes the agent's name, its place among the session's agents and its
// account.
func (c *Coordinator) reserve(spec agent.Spec) error {
	if c.isClosed() {
		return ErrShutDown
	}
	if err := c.registry.Reserve(spec); err != nil {
		return err
	}
	c.accounts.Open(spec, time.Now())
	return nil
}

// unreserve undoes reserve for an agent that was not made.
func (c *Coordinator) unreserve(spec agent.Spec) {
	c.registry.Unreserve(spec)
	c.planned.take(spec.ID)
}

// Find returns the agent that a name or id means. Case is ignored. Of several
// with a name it is one of the session's team, else the oldest.
func (c *Coordinator) Find(name string) (*transcript.Transcript, bool) {
	all := c.Named(name)
	if len(all) == 0 {
		return nil, false
	}
	return all[0], true
}

// Named returns the agents that have a name or id: those of the session's team
// first; the last that has ended for good only if nobody else has the name.
func (c *Coordinator) Named(name string) []*transcript.Transcript {
	all := c.registry.Named(name)
	if c.opts.Owner == nil || slices.ContainsFunc(all, func(t *transcript.Transcript) bool { return !c.isAtOwner(t) || string(t.ID()) == name }) {
		return all
	}
	if there := c.opts.Owner.Find(name); len(there) > 0 {
		return there // who has the name now
	}
	return all
}

// transcript returns what is kept of an agent, by its id. The error is an
// *agent.UnknownError.
func (c *Coordinator) transcript(id mailbox.AgentID) (*transcript.Transcript, error) {
	t, ok := c.opts.Store.Get(id)
	if !ok {
		return nil, &agent.UnknownError{Name: string(id)}
	}
	return t, nil
}

// NewID returns an id that no agent of the session has. It begins with name, as
// far as an id can, so that people can tell agents apart and type their ids.
func (c *Coordinator) NewID(name string) mailbox.AgentID { return c.registry.NewID(name) }

// IsRemoved reports whether an agent has ended for good and given up its name.
func (c *Coordinator) IsRemoved(s agent.Spec) bool { return c.registry.Dismissed(s) }

// MadeBy returns the agent that a tool call of parent has made or woken, if it
// has. answer counts the parent's answers up to the one with the call.
func (c *Coordinator) MadeBy(parent mailbox.AgentID, answer int, call string) (mailbox.AgentID, bool) {
	return c.registry.MadeBy(parent, answer, call)
}

// Home returns the team in which an agent works: its first, or that of the
// nearest above it that has one.
func (c *Coordinator) Home(s agent.Spec) agent.Membership { return c.registry.Home(s) }

// MayControl reports whether from may send control messages to an agent: the
// user, the lead, the lead of a team it is in, who made it, and who woke it.
func (c *Coordinator) MayControl(from mailbox.AgentID, l agent.Record) bool {
	return c.registry.MayControl(from, l)
}
