package coordinator

import (
	"slices"

	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team/protocol"
)

// preempt cuts the step that runs if a control message waits, or a request to end
// that did not come by mail. Whether its sender may send one is asked here too:
// another process can write anything.
func (h *host) preempt() {
	if turn := h.current.Load(); turn != nil {
		turn.Preempt(h.mustPreempt)
	}
}

func (h *host) mustPreempt() bool {
	life := h.t.Record()
	controls := func(e mailbox.Envelope) bool {
		return e.EffectiveClass() == mailbox.ClassControl && h.c.MayControl(e.From.Agent, life)
	}
	return life.Unread && life.Shutdown.Phase == protocol.ShutdownAsked || slices.ContainsFunc(h.t.Unread(), controls)
}
