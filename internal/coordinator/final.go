package coordinator

import (
	"cmp"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/report"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
)

// Final reports an agent that was ended for good: killed, or by a shutdown.
func Final(l agent.Record) bool {
	return l.Closed && (l.Shutdown.Leaving() || l.Reason == turn.ErrKilled.Error())
}

// RejectUnread acknowledges the unread messages of an agent that can never run again
// as dead.
func (c *Coordinator) RejectUnread(id mailbox.AgentID) {
	if t, ok := c.opts.Store.Get(id); ok {
		c.rejectUnread(t)
	}
}

// rejectUnreadIfFinal is RejectUnread for an agent that was ended for good. For others it does nothing.
func (c *Coordinator) rejectUnreadIfFinal(t *transcript.Transcript) {
	if Final(t.Record()) {
		c.rejectUnread(t)
	}
}

func (c *Coordinator) rejectUnread(t *transcript.Transcript) {
	if c.opts.Receipt == nil {
		return
	}
	l := t.Record()
	for _, e := range t.Unread() {
		c.opts.Receipt(mailbox.Receipt{
			From: t.Address(), To: e.From, State: mailbox.StateDead, Through: e.Seq, IDs: []mailbox.ID{e.ID},
			Reason: report.Cut(agent.DisplayName(l.Spec)+" has ended for good: "+cmp.Or(l.Reason, string(l.Outcome)), mailbox.MaxSummary),
		})
	}
}
