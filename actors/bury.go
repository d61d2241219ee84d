package actors

import (
	"github.com/actorswarm/swarm/internal/agent"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// Final reports an agent that was ended for good: killed, or by a shutdown.
func Final(l transcript.Life) bool {
	return l.Closed && (l.Shutdown.Leaving() || l.Reason == agent.ErrKilled.Error())
}

// bury tells the senders of unread messages to an agent that was ended for good
// that nobody will read them.
func (c *Coordinator) bury(t *transcript.Transcript) {
	l := t.Life()
	if !l.Closed || l.Reason != agent.ErrKilled.Error() || c.opts.Receipt == nil {
		return
	}
	for _, e := range t.Unread() {
		c.opts.Receipt(mailbox.Receipt{
			From: t.Address(), To: e.From, State: mailbox.StateDead, Through: e.Seq, IDs: []mailbox.ID{e.ID},
			Reason: DisplayName(l.Spec) + " was " + l.Reason,
		})
	}
}
