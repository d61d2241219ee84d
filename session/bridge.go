package session

import (
	"fmt"
	"slices"
	"time"
)

// Bridge is the user's decision about messages to a session elsewhere.
type Bridge struct {
	Session string    `json:"session"`
	Allowed bool      `json:"allowed"`
	Time    time.Time `json:"time"`
}

// Bridge returns the user's decision about a session elsewhere, if there is one.
func (i Info) Bridge(session string) (Bridge, bool) {
	at := slices.IndexFunc(i.Bridges, func(b Bridge) bool { return b.Session == session })
	if at < 0 {
		return Bridge{}, false
	}
	return i.Bridges[at], true
}

// without returns the bridges except one. It does not change the slice of i.
func (i Info) without(session string) []Bridge {
	return slices.DeleteFunc(slices.Clone(i.Bridges), func(b Bridge) bool { return b.Session == session })
}

// SetBridge records the user's decision about a session elsewhere.
func (i *Info) SetBridge(session string, allowed bool) error {
	if err := CheckID(session); err != nil {
		return err
	}
	i.Bridges = append(i.without(session), Bridge{Session: session, Allowed: allowed, Time: time.Now().UTC().Truncate(time.Second)})
	return nil
}

// RemoveBridge removes the user's decision about a session elsewhere.
func (i *Info) RemoveBridge(session string) error {
	if _, known := i.Bridge(session); !known {
		return fmt.Errorf("there is no decision about session %q; the decisions are listed by: swarm bridge list", session)
	}
	i.Bridges = i.without(session)
	return nil
}
