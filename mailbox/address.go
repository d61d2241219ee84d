package mailbox

import (
	"fmt"
	"strconv"
	"strings"
)

// AgentID identifies one agent for the whole life of a session, across restarts:
// 1 to 64 of a-z, 0-9 and '-'. Display names never take its place.
type AgentID string

// Valid reports whether the id can be a part of subjects and file names.
func (a AgentID) Valid() bool { return validToken(string(a)) }

// Address names an agent and one of its incarnations; 0 means the current one.
type Address struct {
	Agent       AgentID
	Incarnation uint32
}

// String returns "a1b2@3", or "a1b2" for the current incarnation.
func (a Address) String() string {
	if a.Incarnation == 0 {
		return string(a.Agent)
	}
	return string(a.Agent) + "@" + strconv.FormatUint(uint64(a.Incarnation), 10)
}

func (a Address) append(dst []byte) []byte {
	dst = append(dst, a.Agent...)
	if a.Incarnation == 0 {
		return dst
	}
	return strconv.AppendUint(append(dst, '@'), uint64(a.Incarnation), 10)
}

// ParseAddress parses exactly what String returns; it refuses "a@0" and "a@03",
// so that each address has one spelling.
func ParseAddress(s string) (Address, error) {
	name, digits, has := strings.Cut(s, "@")
	a := Address{Agent: AgentID(name)}
	if !a.Agent.Valid() {
		return Address{}, addressError(s)
	}
	if !has {
		return a, nil
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || n == 0 || digits[0] == '0' || digits[0] == '+' {
		return Address{}, addressError(s)
	}
	a.Incarnation = uint32(n)
	return a, nil
}

func addressError(s string) error {
	return fmt.Errorf("mailbox: %.80q is not an address; write agent or agent@incarnation, the agent in a-z, 0-9 and '-', at most %d long", s, maxToken)
}

const maxToken = 64

func validToken(s string) bool {
	if len(s) == 0 || len(s) > maxToken {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// Prefixes of the ids of members that represent other sessions. They differ because
// they prove different things: a session of this machine belongs to the same user; a
// session behind a server has the permissions that the server gives it.
const (
	sessionPrefix = "session-"
	bridgePrefix  = "bridge-"
)

// PeerID returns the id of the member that represents another session of this machine.
func PeerID(session string) AgentID { return AgentID(sessionPrefix + session) }

// BridgeID returns the id of the member that represents a session that is reached
// through a NATS server.
func BridgeID(session string) AgentID { return AgentID(bridgePrefix + session) }

// Peer returns the session that the agent represents, if it represents one, and
// whether that session is reached through a NATS server.
func (a AgentID) Peer() (session string, bridged, ok bool) {
	if session, ok = strings.CutPrefix(string(a), sessionPrefix); ok {
		return session, false, true
	}
	session, ok = strings.CutPrefix(string(a), bridgePrefix)
	return session, ok, ok
}
