package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/actorswarm/swarm/internal/statefile"
)

// BusUser is an external program that has access to a session's bus. Only the public half
// of its key is known here.
type BusUser struct {
	Name  string    `json:"name"`
	Key   string    `json:"key"`
	Added time.Time `json:"added"`
}

// busFile is the file with the users of a session's bus.
func (i Info) busFile() string { return filepath.Join(i.Path, "bus", "users.json") }

// BusUsers returns the users of the bus of the session, running or not, by name.
func (i Info) BusUsers() ([]BusUser, error) {
	raw, err := os.ReadFile(i.busFile())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the users of the bus of session %s: %w", i.ID, err)
	}
	var all []BusUser
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("the users of the bus in %s are damaged: %w", i.busFile(), err)
	}
	return all, nil
}

// PutBusUser adds a user to the file or replaces the one of that name; with an empty key it
// removes the user. It returns all users from then on, by name.
func (i Info) PutBusUser(u BusUser) ([]BusUser, error) {
	all, err := i.BusUsers()
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(old BusUser) bool { return old.Name == u.Name })
	if u.Key != "" {
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b BusUser) int { return cmp.Compare(a.Name, b.Name) })
	raw, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the users of the bus: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(i.busFile()), 0o700); err != nil {
		return nil, statefile.Error(i.Path, err)
	}
	return all, statefile.Write(i.busFile(), append(raw, '\n'))
}

// BusCredentials are what an external program needs to use a session's bus. The seed is
// secret: it is stored nowhere and cannot be shown again.
type BusCredentials struct {
	BusUser
	Session   string `json:"session"`
	Seed      string `json:"seed"`
	URL       string `json:"url,omitempty"`       // where the bus listens, or will; "" if that is not known
	WebSocket string `json:"websocket,omitempty"` // the same
	// CA is the file with which programs trust the session's certificate, if they need one;
	// Untrusted reports that they need one which is not known here.
	CA        string `json:"ca,omitempty"`
	Untrusted bool   `json:"untrusted,omitempty"`
}

// Subject returns the subject of the user's requests: send, read, claim, complete, drop,
// tasks, agents or state.
func (c BusCredentials) Subject(verb string) string { return BusSubject(c.Session, c.Name, verb) }

// Inbox returns the prefix of the subjects of the answers to the user.
func (c BusCredentials) Inbox() string { return BusInbox(c.Name) }

// Mail returns the subject on which mail to the user is published when it arrives.
func (c BusCredentials) Mail() string { return BusMail(c.Session, c.Name) }

// BusSubject is [BusCredentials.Subject] for a user by name.
func BusSubject(session, user, verb string) string {
	return "sw." + session + ".in." + user + "." + verb
}

// BusInbox is [BusCredentials.Inbox] for a user by name.
func BusInbox(user string) string { return "_INBOX." + user }

// BusMail is [BusCredentials.Mail] for a user by name.
func BusMail(session, user string) string { return "sw." + session + ".mail." + user }

// BusState is the state of a session's bus.
type BusState struct {
	URL       string    `json:"url,omitempty"`
	WebSocket string    `json:"websocket,omitempty"`
	Users     []BusUser `json:"users"`
}
