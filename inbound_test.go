package swarm

import (
	"testing"

	"github.com/actorswarm/swarm/mailbox"
)

// Where the options say nothing, a message is held if one of the two sessions
// bypasses permissions and the other does not. What a session elsewhere says of
// itself only makes that stricter.
func TestTheModesOfTwoSessionsSayWhatIsHeld(t *testing.T) {
	const bypass = "bypassPermissions"
	for _, c := range []struct {
		given      Inbound
		mine, from string
		member     mailbox.AgentID
		want       Inbound
	}{
		{"", "default", "plan", "session-a", InboundAccept},
		{"", "default", "", "session-a", InboundAccept}, // it did not say
		{"", "acceptEdits", bypass, "session-a", InboundHold},
		{"", bypass, "default", "session-a", InboundHold},
		{"", bypass, "", "session-a", InboundHold},
		{"", bypass, bypass, "session-a", InboundAccept},
		{"", "default", bypass, "bridge-a", InboundHold},
		{"", "default", "default", "bridge-a", InboundAccept},
		{"", bypass, bypass, "bridge-a", InboundHold},
		{InboundAccept, "default", bypass, "bridge-a", InboundAccept},
		{InboundHold, "default", "default", "session-a", InboundHold},
		{InboundRefuse, bypass, bypass, "session-a", InboundRefuse},
	} {
		s := &Session{opts: Options{Mode: c.mine, Inbound: c.given}}
		got, why := s.inbound(c.member, c.from)
		if got != c.want || (got != InboundAccept) != (why != "") {
			t.Errorf("%+v: %s (%s)", c, got, why)
		}
	}
}
