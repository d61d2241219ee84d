package member

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/bus"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
)

// Users are the programs that may connect with a key of their own. Each is a member of
// the session. Its methods may be called from any goroutine.
type Users struct {
	info   session.Info
	agents Agents
	bus    *bus.Bus // nil if the session does not run
}

// Agents adds and removes members; the coordinator of a session implements it.
type Agents interface {
	AddMember(name string) (*transcript.Transcript, error)
	RemoveMember(id mailbox.AgentID) error
	Find(name string) (*transcript.Transcript, bool)
}

// NewUsers returns the users of the bus of a session. b is its bus, or nil if the
// session does not run. agents may be nil if no user is added or removed.
func NewUsers(info session.Info, agents Agents, b *bus.Bus) *Users {
	return &Users{info: info, agents: agents, bus: b}
}

// State returns where the bus listens, as far as that is known, and who may use it.
func (u *Users) State() (session.BusState, error) {
	url, webSocket := u.urls()
	users, err := u.info.BusUsers()
	return session.BusState{URL: url, WebSocket: webSocket, Users: users}, err
}

func (u *Users) urls() (tcp, webSocket string) {
	if u.bus != nil {
		return u.bus.URLs()
	}
	return cmp.Or(u.info.NATS.URL, bus.Address(u.info, "nats", u.info.Listen)), bus.Address(u.info, "ws", u.info.ListenWebSocket)
}

// Add makes a program a member and creates its key. A program that is a member already
// gets a new key, and its old one is revoked.
func (u *Users) Add(name string) (c session.BusCredentials, err error) {
	err = u.change(func() (all []session.BusUser, err error) {
		c, all, err = u.add(name)
		return all, err
	})
	if err != nil {
		return c, err
	}
	c.URL, c.WebSocket = u.urls()
	setTrust(&c, u.info)
	return c, nil
}

func (u *Users) add(name string) (session.BusCredentials, []session.BusUser, error) {
	var none session.BusCredentials
	if err := checkUser(name); err != nil {
		return none, nil, err
	}
	key, seed, err := natsd.NewKey()
	if err != nil {
		return none, nil, err
	}
	if _, err := u.agents.AddMember(name); err != nil {
		return none, nil, err
	}
	user := session.BusUser{Name: name, Key: key, Added: time.Now().UTC()}
	all, err := u.info.PutBusUser(user)
	return session.BusCredentials{BusUser: user, Session: u.info.ID, Seed: seed}, all, err
}

// checkUser accepts names that can be part of a subject.
func checkUser(name string) error {
	if !mailbox.AgentID(name).Valid() || len(name) > 32 {
		return fmt.Errorf("%.80q cannot be the name of a user of the bus: use 1 to 32 of a-z, 0-9 and '-'", name)
	}
	if slices.Contains([]string{string(agent.LeadID), agent.LeadName, "main", string(agent.UserID), "all"}, name) {
		return fmt.Errorf("the name %q means somebody else in every session; choose another", name)
	}
	if _, _, ok := mailbox.AgentID(name).Peer(); ok {
		return fmt.Errorf("%q is a name for another session: choose another", name)
	}
	return nil
}

// setTrust sets how a user verifies the session's server.
func setTrust(c *session.BusCredentials, i session.Info) {
	if i.NATS.URL != "" {
		return // an external server has its own certificate
	}
	switch asItIs, byItself := bus.Trust(i); {
	case asItIs:
	case byItself:
		c.CA = i.ListenCert
	default:
		c.Untrusted = true
	}
}

// Remove revokes a program's key and ends its membership, at once.
func (u *Users) Remove(name string) error {
	return u.change(func() ([]session.BusUser, error) { return u.remove(name) })
}

func (u *Users) remove(name string) ([]session.BusUser, error) {
	t, ok := u.agents.Find(name)
	if !ok || t.Spec().Role != agent.Program {
		return nil, fmt.Errorf("the bus of session %s has no user named %q; its users are listed by: swarm bus user list --session %s", u.info.ID, name, u.info.ID)
	}
	all, err := u.info.PutBusUser(session.BusUser{Name: string(t.ID())}) // first the key, then the mailbox
	if err != nil {
		return nil, err
	}
	return all, u.agents.RemoveMember(t.ID())
}

// DropKey revokes the key of a name, if there is one. The member remains.
func (u *Users) DropKey(name string) error {
	return u.change(func() ([]session.BusUser, error) { return u.info.PutBusUser(session.BusUser{Name: name}) })
}

// Has reports whether there is a key of a name.
func (u *Users) Has(name string) (bool, error) {
	all, err := u.info.BusUsers()
	return slices.ContainsFunc(all, func(one session.BusUser) bool { return one.Name == name }), err
}

// KeyOf returns the public key that a name belongs to, or "" if it belongs to none.
func (u *Users) KeyOf(name string) (string, error) {
	all, err := u.info.BusUsers()
	if at := slices.IndexFunc(all, func(one session.BusUser) bool { return one.Name == name }); at >= 0 {
		return all[at].Key, err
	}
	return "", err
}

// change changes the users, and updates the server if the session runs.
func (u *Users) change(change func() ([]session.BusUser, error)) error {
	if u.bus == nil {
		_, err := change()
		return err
	}
	return u.bus.ChangeUsers(func() ([]natsd.User, error) {
		all, err := change()
		return serverUsers(u.info.ID, all), err
	})
}

// ServerUsers returns the users of a session's bus in the form of the NATS server.
func ServerUsers(info session.Info) ([]natsd.User, error) {
	all, err := info.BusUsers()
	return serverUsers(info.ID, all), err
}

// serverUsers gives each user the permissions to make requests as itself, and to
// receive its replies and its mail.
func serverUsers(id string, all []session.BusUser) []natsd.User {
	users := make([]natsd.User, len(all))
	for i, u := range all {
		users[i] = natsd.User{
			Name: u.Name, Key: u.Key,
			Publish:   []string{session.BusSubject(id, u.Name, "*")},
			Subscribe: []string{session.BusInbox(u.Name) + ".>", session.BusMail(id, u.Name)},
		}
	}
	return users
}
