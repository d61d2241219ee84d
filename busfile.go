package swarm

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

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
)

// BusUser is a program outside that may use a session's bus. Of its key only the
// public half is known here.
type BusUser struct {
	Name  string    `json:"name"`
	Key   string    `json:"key"`
	Added time.Time `json:"added"`
}

// busFile is where the users of a session's bus are kept.
func (i Info) busFile() string { return filepath.Join(i.Path, "bus", "users.json") }

// BusUsers returns who may use the bus of a session, running or not, by name.
func BusUsers(i Info) ([]BusUser, error) {
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

// keepBusUser puts a user in the file, in the place of one of its name, or with
// an empty key takes it out.
func (i Info) keepBusUser(u BusUser) ([]BusUser, error) {
	all, err := BusUsers(i)
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
		return nil, stateError(i.Path, err)
	}
	return all, writeFile(i.busFile(), append(raw, '\n'))
}

// BusCredentials are what a program outside needs to use a session's bus. The
// seed is the secret: it is kept nowhere and cannot be shown again.
type BusCredentials struct {
	BusUser
	Session   string `json:"session"`
	Seed      string `json:"seed"`
	URL       string `json:"url,omitempty"`       // where it listens, or will; "" when that is not known
	WebSocket string `json:"websocket,omitempty"` // the same
	// CA is the file with which programs believe the session's certificate, if they do
	// not do so anyway; Untrusted says that they need one which is not known here.
	CA        string `json:"ca,omitempty"`
	Untrusted bool   `json:"untrusted,omitempty"`
}

// believe says how the user comes to believe that it talks with the session.
func (c *BusCredentials) believe(i Info) {
	if i.NATS.URL != "" {
		return // that server has a certificate of its own
	}
	switch asItIs, byItself := trust(i.chain()); {
	case asItIs:
	case byItself:
		c.CA = i.ListenCert
	default:
		c.Untrusted = true
	}
}

// Subject returns where the user asks the session for something: send, read,
// claim, complete, drop, tasks, agents or state.
func (c BusCredentials) Subject(verb string) string { return insideSubject(c.Session, c.Name, verb) }

// Inbox returns the prefix under which the user gets its answers.
func (c BusCredentials) Inbox() string { return inboxPrefix(c.Name) }

// Mail returns where mail to the user is told as it arrives.
func (c BusCredentials) Mail() string { return mailSubject(c.Session, c.Name) }

func insideSubject(session, name, verb string) string {
	return "sw." + session + ".in." + name + "." + verb
}

func inboxPrefix(name string) string { return "_INBOX." + name }

func mailSubject(session, name string) string { return "sw." + session + ".mail." + name }

// serverUsers are the users as the server judges them: each asks as itself, and
// hears its answers and its own mail.
func serverUsers(session string, all []BusUser) []natsd.User {
	users := make([]natsd.User, len(all))
	for i, u := range all {
		users[i] = natsd.User{
			Name: u.Name, Key: u.Key,
			Publish:   []string{insideSubject(session, u.Name, "*")},
			Subscribe: []string{inboxPrefix(u.Name) + ".>", mailSubject(session, u.Name)},
		}
	}
	return users
}

// validBusName keeps a user's name fit for subjects and for people.
func validBusName(name string) error {
	if !mailbox.AgentID(name).Valid() || len(name) > 32 {
		return fmt.Errorf("%.80q cannot be the name of a user of the bus: use 1 to 32 of a-z, 0-9 and '-'", name)
	}
	if slices.Contains([]string{string(actors.LeadID), actors.LeadName, "main", string(turn.User), "all"}, name) {
		return fmt.Errorf("the name %q means somebody else in every session; choose another", name)
	}
	return nil
}

// newBusUser returns a user with a fresh key, and its seed.
func newBusUser(name string) (BusUser, string, error) {
	public, seed, err := natsd.NewKey()
	return BusUser{Name: name, Key: public, Added: time.Now().UTC()}, seed, err
}
