package swarm

import (
	"fmt"
	"slices"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/bus"
	"github.com/actorswarm/swarm/internal/member"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/mailbox"
)

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
	switch asItIs, byItself := bus.Trust(i); {
	case asItIs:
	case byItself:
		c.CA = i.ListenCert
	default:
		c.Untrusted = true
	}
}

// Subject returns where the user asks the session for something: send, read,
// claim, complete, drop, tasks, agents or state.
func (c BusCredentials) Subject(verb string) string {
	return member.Subject(c.Session).From(c.Name).To(verb)
}

// Inbox returns the prefix under which the user gets its answers.
func (c BusCredentials) Inbox() string { return member.InboxPrefix(c.Name) }

// Mail returns where mail to the user is told as it arrives.
func (c BusCredentials) Mail() string { return member.MailSubject(c.Session, c.Name) }

// serverUsers are the users as the server judges them: each asks as itself, and
// hears its answers and its own mail.
func serverUsers(session string, all []BusUser) []natsd.User {
	users := make([]natsd.User, len(all))
	for i, u := range all {
		users[i] = natsd.User{
			Name: u.Name, Key: u.Key,
			Publish:   []string{member.Subject(session).From(u.Name).To("*")},
			Subscribe: []string{member.InboxPrefix(u.Name) + ".>", member.MailSubject(session, u.Name)},
		}
	}
	return users
}

// validBusName keeps a user's name fit for subjects and for people.
func validBusName(name string) error {
	if !mailbox.AgentID(name).Valid() || len(name) > 32 {
		return fmt.Errorf("%.80q cannot be the name of a user of the bus: use 1 to 32 of a-z, 0-9 and '-'", name)
	}
	if slices.Contains([]string{string(agent.LeadID), agent.LeadName, "main", string(agent.UserID), "all"}, name) {
		return fmt.Errorf("the name %q means somebody else in every session; choose another", name)
	}
	return nil
}

// newBusUser returns a user with a fresh key, and its seed.
func newBusUser(name string) (BusUser, string, error) {
	public, seed, err := natsd.NewKey()
	return BusUser{Name: name, Key: public, Added: time.Now().UTC()}, seed, err
}
