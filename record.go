package swarm

import "github.com/actorswarm/swarm/session"

// What is kept of a session; see package session.
type (
	Info            = session.Info
	NATS            = session.NATS
	Inbound         = session.Inbound
	Bridge          = session.Bridge
	BusUser         = session.BusUser
	NoSessionError  = session.NotFoundError
	NotRunningError = session.NotRunningError
	BacklogError    = session.BacklogError
)

// What Inbound can be.
const (
	InboundAccept = session.InboundAccept
	InboundHold   = session.InboundHold
	InboundRefuse = session.InboundRefuse
)

// Off is Options.Listen, ListenWebSocket or ListenCert for a session that has listened
// before and is not to.
const Off = session.Off

// Sessions returns every session kept in stateDir, newest first; with dir, only
// those of that working directory.
func Sessions(stateDir, dir string) ([]Info, error) { return session.List(stateDir, dir) }

// FindSession returns the session with an id, or with the one id that begins
// so. With an empty id it returns the newest session of dir.
func FindSession(stateDir, dir, id string) (Info, error) { return session.Find(stateDir, dir, id) }

// BusUsers returns who may use the bus of a session, running or not, by name.
func BusUsers(i Info) ([]BusUser, error) { return i.BusUsers() }
