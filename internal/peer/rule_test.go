package peer

import (
	"testing"

	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
)

// Without an option, a message is held if one of the two sessions bypasses permissions and
// the other does not. The mode that a session elsewhere reports only makes that stricter.
func TestTheModesOfTwoSessionsSayWhatIsHeld(t *testing.T) {
	const bypass = "bypassPermissions"
	for _, c := range []struct {
		given      session.Inbound
		mine, from string
		member     mailbox.AgentID
		want       session.Inbound
	}{
		{"", "default", "plan", "session-a", session.InboundAccept},
		{"", "default", "", "session-a", session.InboundAccept}, // it did not report one
		{"", "acceptEdits", bypass, "session-a", session.InboundHold},
		{"", bypass, "default", "session-a", session.InboundHold},
		{"", bypass, "", "session-a", session.InboundHold},
		{"", bypass, bypass, "session-a", session.InboundAccept},
		{"", "default", bypass, "bridge-a", session.InboundHold},
		{"", "default", "default", "bridge-a", session.InboundAccept},
		{"", bypass, bypass, "bridge-a", session.InboundHold},
		{session.InboundAccept, "default", bypass, "bridge-a", session.InboundAccept},
		{session.InboundHold, "default", "default", "session-a", session.InboundHold},
		{session.InboundRefuse, bypass, bypass, "session-a", session.InboundRefuse},
	} {
		a := &Service{options: Options{Mode: c.mine, Inbound: c.given}}
		got, why := a.inboundRule(c.member, c.from)
		if got != c.want || (got != session.InboundAccept) != (why != "") {
			t.Errorf("%+v: %s (%s)", c, got, why)
		}
	}
}
