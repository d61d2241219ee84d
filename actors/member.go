package actors

import (
	"fmt"
	"time"

	"github.com/actorswarm/swarm/agent"

	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// AddMember makes a program outside a member of the session, by name: it can be
// written to and has a mailbox, and no host, model or turn. Its id is its name.
// One that was expelled is taken in again with the mail that it has. AddMember
// returns when that is on disk. The error is a NameTakenError when an agent has
// the name.
func (c *Coordinator) AddMember(name string) (*transcript.Transcript, error) {
	c.reviving.Lock()
	defer c.reviving.Unlock()
	if t, ok := c.Find(name); ok && isOutside(t) {
		c.registry.Retake(t.Spec())
		return t, t.Reopen(agent.Outside, agent.Waking{})
	}
	spec := agent.Spec{ID: mailbox.AgentID(name), Name: name, Type: "outside", Role: agent.Outside, Born: time.Now()}
	if !spec.ID.Valid() {
		return nil, fmt.Errorf("%.80q cannot be the name of a member: use 1 to 64 of a-z, 0-9 and '-'", name)
	}
	if err := c.reserve(spec); err != nil {
		return nil, err
	}
	t, wait, err := c.opts.Store.Create(spec)
	if err != nil {
		return nil, err
	}
	return t, wait()
}

// isOutside reports a member that no host runs.
func isOutside(t *transcript.Transcript) bool { return t.Spec().Role == agent.Outside }

// RemoveMember ends the membership of a program outside.
func (c *Coordinator) RemoveMember(id mailbox.AgentID) error {
	t, err := c.transcript(id)
	if err != nil {
		return err
	}
	c.reviving.Lock()
	defer c.reviving.Unlock()
	return c.recordEnd(t, func() error { return t.Close("it was removed from the bus", nil) })
}
