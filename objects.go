package swarm

import (
	"github.com/actorswarm/swarm/internal/bus"
	"github.com/actorswarm/swarm/mailbox"
)

// ObjectName returns where the whole text of a message that has a Ref is on the server
// of its session, until it has been read by whom it is for: bucket/name.
func ObjectName(session string, ref mailbox.Ref) string { return bus.ObjectName(session, ref) }
