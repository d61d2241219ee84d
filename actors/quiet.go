package actors

import (
	"context"
	"slices"

	"github.com/actorswarm/swarm/mailbox"
)

// change is work without which the swarm is not quiet, although no host does it.
func (c *Coordinator) change(f func()) {
	c.changing.Add(1)
	begun := c.work(func() {
		defer c.Notify()
		defer c.changing.Add(-1)
		f()
	})
	if !begun {
		c.changing.Add(-1)
	}
}

// Quiet returns when no agent has work, no turn runs and no message between
// agents of this session is on its way.
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

// isQuiet looks at one agent after the other; what it saw holds only if none
// began to live and no turn ended meanwhile.
func (c *Coordinator) isQuiet() bool {
	before := c.moves.Load()
	if c.anyBusy() { // said at once, at little cost
		return false
	}
	// Mail first: once it has arrived, its receiver has work.
	for _, e := range c.opts.Store.Pending() {
		switch t, ok := c.opts.Store.Get(e.To.Agent); {
		case ok && willRead(t.Life()), !ok && c.opts.Owner != nil: // it is in yet another process
			return false
		}
	}
	return !slices.ContainsFunc(c.opts.Store.All(), c.missed) && !c.anyBusy() && c.moves.Load() == before
}

// Rest returns when an agent runs no turn.
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

// Notify wakes those who wait for a change, to check again.
func (c *Coordinator) Notify() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.changed)
	c.changed = make(chan struct{})
}
