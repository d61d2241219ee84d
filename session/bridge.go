package session

import (
	"fmt"
	"slices"
	"time"
)

// Bridge is what the user has said about writing to a session elsewhere.
type Bridge struct {
	Session string    `json:"session"`
	Allowed bool      `json:"allowed"`
	Time    time.Time `json:"time"`
}

// Bridge returns what the user has said of a session elsewhere, if anything.
func (i Info) Bridge(session string) (Bridge, bool) {
	at := slices.IndexFunc(i.Bridges, func(b Bridge) bool { return b.Session == session })
	if at < 0 {
		return Bridge{}, false
	}
	return i.Bridges[at], true
}

// without returns the bridges but one. The slice of i stays as it is.
func (i Info) without(session string) []Bridge {
	return slices.DeleteFunc(slices.Clone(i.Bridges), func(b Bridge) bool { return b.Session == session })
}

// SetBridge records what the user has said of a session elsewhere.
func (i *Info) SetBridge(session string, allowed bool) error {
	if err := CheckID(session); err != nil {
		return err
	}
	i.Bridges = append(i.without(session), Bridge{Session: session, Allowed: allowed, Time: time.Now().UTC().Truncate(time.Second)})
	return nil
}

// RemoveBridge makes the record as if the user had never been asked about a session.
func (i *Info) RemoveBridge(session string) error {
	if _, known := i.Bridge(session); !known {
		return fmt.Errorf("nothing was said about session %q; what was is listed by: swarm bridge list", session)
	}
	i.Bridges = i.without(session)
	return nil
}
