package mailbox

import (
	"fmt"
	"strconv"
	"strings"
)

// AgentID names one agent for the whole life of a session, across restarts:
// 1 to 64 of a-z, 0-9 and '-'. Display names are data and never take its place.
type AgentID string

// Valid reports whether the id has the form every subject and file name relies on.
func (a AgentID) Valid() bool { return validToken(string(a)) }

// Address says which agent, and which of its lives. Incarnation 0 means
// whichever lives now.
type Address struct {
	Agent       AgentID
	Incarnation uint32
}

// String is "a1b2@3", or "a1b2" for whichever incarnation lives.
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

// ParseAddress reads exactly what String writes; "a@0" and "a@03" are refused,
// so that one address has one spelling.
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

// These begin the ids of those who stand for other sessions. There is one for each
// way, since the ways prove different things: on this machine that the session is
// the user's, through a server what the server's permissions do.
const (
	sessionPrefix = "session-"
	bridgePrefix  = "bridge-"
)

// OfSession is the id of the member that stands for another session of this machine.
func OfSession(session string) AgentID { return AgentID(sessionPrefix + session) }

// OfBridge is the id of the member that stands for a session that is reached
// through a server.
func OfBridge(session string) AgentID { return AgentID(bridgePrefix + session) }

// Session returns the other session that an agent stands for, if it does, and
// whether the way to it is a server.
func (a AgentID) Session() (session string, bridged, ok bool) {
	if session, ok = strings.CutPrefix(string(a), sessionPrefix); ok {
		return session, false, true
	}
	session, ok = strings.CutPrefix(string(a), bridgePrefix)
	return session, ok, ok
}
