package coordinator

import (
	"slices"

	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team/protocol"
)

// preempt cuts the running step if a control message waits, or a request to end that
// did not come by mail. It checks here too whether the sender may send control messages,
// since another process can write anything.
func (h *host) preempt() {
	if turn := h.current.Load(); turn != nil {
		turn.Preempt(h.mustPreempt)
	}
}

func (h *host) mustPreempt() bool {
	record := h.t.Record()
	controls := func(e mailbox.Envelope) bool {
		return e.EffectiveClass() == mailbox.ClassControl && h.c.MayControl(e.From.Agent, record)
	}
	return record.Unread && record.Shutdown.Phase == protocol.ShutdownAsked || slices.ContainsFunc(h.t.Unread(), controls)
}
