package coordinator

import (
	"context"
	"slices"

	"github.com/actorswarm/swarm/mailbox"
)

// Quiet waits until no agent has work, no turn runs and no message between agents of
// this session is on its way.
func (c *Coordinator) Quiet(ctx context.Context) error {
	for {
		changed := c.whenChanged()
		if c.allQuiet(ctx) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// isQuiet checks one agent after the other. The result holds only if no host started
// and no turn ended meanwhile, so it checks for that too.
func (c *Coordinator) isQuiet() bool {
	before := c.moves.Load()
	if c.anyBusy() { // the cheap check first
		return false
	}
	// Mail first: once it has arrived, its receiver has work.
	for _, e := range c.opts.Store.Pending() {
		switch t, ok := c.opts.Store.Get(e.To.Agent); {
		case ok && willRead(t.Record()), !ok && c.opts.Owner != nil: // the receiver is in a third process
			return false
		}
	}
	return !slices.ContainsFunc(c.opts.Store.All(), c.hasMissedMail) && !c.anyBusy() && c.moves.Load() == before
}

// Rest waits until an agent runs no turn.
func (c *Coordinator) Rest(ctx context.Context, id mailbox.AgentID) error {
	for {
		changed := c.whenChanged()
		if h := c.hosts.get(id); h == nil || !h.running.Load() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
