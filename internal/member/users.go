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

// Users are the programs that may come in with a key of their own. Each is a member of
// the session. Its methods may be called from any goroutine.
type Users struct {
	info   session.Info
	agents Agents
	bus    *bus.Bus // nil if the session does not run
}

// Agents change who is a member; the coordinator of a session does.
type Agents interface {
	AddMember(name string) (*transcript.Transcript, error)
	RemoveMember(id mailbox.AgentID) error
	Find(name string) (*transcript.Transcript, bool)
}

// NewUsers returns the users of the bus of a session. b is its bus, nil if the session
// does not run; agents may be nil if nobody is added or removed.
func NewUsers(info session.Info, agents Agents, b *bus.Bus) *Users {
	return &Users{info: info, agents: agents, bus: b}
}

// State returns where the bus listens, or will as far as that is known, and who may use it.
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

// Add makes a program a member and lets it in, with a fresh key. One that is a member
// already gets a new key, and its old one is worth nothing from then on.
func (u *Users) Add(name string) (c session.BusCredentials, err error) {
	err = u.change(func() (all []session.BusUser, err error) {
		c, all, err = u.add(name)
		return all, err
	})
	if err != nil {
		return c, err
	}
	c.URL, c.WebSocket = u.urls()
	believe(&c, u.info)
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

// checkUser keeps a user's name fit for subjects and for people.
func checkUser(name string) error {
	if !mailbox.AgentID(name).Valid() || len(name) > 32 {
		return fmt.Errorf("%.80q cannot be the name of a user of the bus: use 1 to 32 of a-z, 0-9 and '-'", name)
	}
	if slices.Contains([]string{string(agent.LeadID), agent.LeadName, "main", string(agent.UserID), "all"}, name) {
		return fmt.Errorf("the name %q means somebody else in every session; choose another", name)
	}
	if _, _, ok := mailbox.AgentID(name).Session(); ok {
		return fmt.Errorf("%q is a name for another session: choose another", name)
	}
	return nil
}

// believe says how a user comes to believe that it talks with the session.
func believe(c *session.BusCredentials, i session.Info) {
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

// Remove ends what a program may do, at once.
func (u *Users) Remove(name string) error {
	return u.change(func() ([]session.BusUser, error) { return u.remove(name) })
}

func (u *Users) remove(name string) ([]session.BusUser, error) {
	t, ok := u.agents.Find(name)
	if !ok || t.Spec().Role != agent.Outside {
		return nil, fmt.Errorf("the bus of session %s has no user named %q; its users are listed by: swarm bus user list --session %s", u.info.ID, name, u.info.ID)
	}
	all, err := u.info.PutBusUser(session.BusUser{Name: string(t.ID())}) // first the key, then the mailbox
	if err != nil {
		return nil, err
	}
	return all, u.agents.RemoveMember(t.ID())
}

// DropKey takes the key of a user, if the name is one. The member stays.
func (u *Users) DropKey(name string) error {
	return u.change(func() ([]session.BusUser, error) { return u.info.PutBusUser(session.BusUser{Name: name}) })
}

// Has reports whether there is a key of a name.
func (u *Users) Has(name string) (bool, error) {
	all, err := u.info.BusUsers()
	return slices.ContainsFunc(all, func(one session.BusUser) bool { return one.Name == name }), err
}

// change makes a change of who may come in, which the server obeys from then on.
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

// ServerUsers returns the users of a session's bus as a NATS server judges them.
func ServerUsers(info session.Info) ([]natsd.User, error) {
	all, err := info.BusUsers()
	return serverUsers(info.ID, all), err
}

// serverUsers lets each user ask as itself, and hear its answers and its own mail.
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
