package coordinator

import (
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/mailbox"
)

// Refused records a request that was refused in the audit: what it was, and why it was
// refused.
func (c *Coordinator) Refused(by mailbox.AgentID, what string, err error) {
	a := event.Audit{By: c.nameOf(by), Subject: what, Reason: err.Error()}
	if c.opts.Audit != nil {
		c.opts.Audit(a)
		return
	}
	about := event.Agent{ID: by, Name: a.By}
	if t, ok := c.opts.Store.Get(by); ok {
		about = agent.Describe(t.Spec())
	}
	c.opts.Events.Publish(about, a)
}
