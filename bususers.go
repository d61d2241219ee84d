package swarm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/bus"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/mailbox"
)

// BusState is what is known of a running session's bus.
type BusState struct {
	URL       string    `json:"url,omitempty"`
	WebSocket string    `json:"websocket,omitempty"`
	Users     []BusUser `json:"users"`
}

// Bus returns where the session's bus listens and who may use it.
func (s *Session) Bus() (BusState, error) {
	url, webSocket := s.wire.URLs()
	users, err := BusUsers(s.Info())
	return BusState{URL: url, WebSocket: webSocket, Users: users}, err
}

// KeptBus is Session.Bus for a session that does not run: where its bus will listen, as
// far as that is known.
func KeptBus(info Info) (BusState, error) {
	users, err := BusUsers(info)
	return BusState{URL: cmp.Or(info.NATS.URL, bus.Address(info, "nats", info.Listen)), WebSocket: bus.Address(info, "ws", info.ListenWebSocket), Users: users}, err
}

// AddBusUser makes a program outside a member of the session and lets it in, with
// a fresh key. One that is a member already gets a new key, and its old one is
// worth nothing from then on.
func (s *Session) AddBusUser(name string) (BusCredentials, error) {
	var c BusCredentials
	err := s.changeBusUsers(func() (all []BusUser, err error) {
		c, all, err = addBusUser(s.Info(), s.agents, name)
		return all, err
	})
	if err != nil {
		return c, err
	}
	c.URL, c.WebSocket = s.wire.URLs()
	c.believe(s.Info())
	return c, nil
}

// RemoveBusUser ends what a program outside may do, at once.
func (s *Session) RemoveBusUser(name string) error {
	return s.changeBusUsers(func() ([]BusUser, error) { return removeBusUser(s.Info(), s.agents, name) })
}

// isBusUser reports whether a name is that of a user of the bus.
func (s *Session) isBusUser(name string) (bool, error) {
	users, err := BusUsers(s.Info())
	return slices.ContainsFunc(users, func(u BusUser) bool { return u.Name == name }), err
}

// dropKey takes the key of a user, if it is one.
func (s *Session) dropKey(name string) error {
	return s.changeBusUsers(func() ([]BusUser, error) { return s.Info().PutBusUser(BusUser{Name: name}) })
}

// changeBusUsers makes a change of who may come in, and tells the server.
func (s *Session) changeBusUsers(change func() ([]BusUser, error)) error {
	return s.wire.ChangeUsers(func() ([]natsd.User, error) {
		all, err := change()
		return serverUsers(s.Info().ID, all), err
	})
}

// AddBusUser is Session.AddBusUser for a session that does not run.
func AddBusUser(ctx context.Context, info Info, name string) (c BusCredentials, err error) {
	rest := atRest(info)
	defer func() { err = errors.Join(err, rest.Close()) }()
	agents, err := rest.Coordinator(ctx)
	if err != nil {
		return c, err
	}
	c, _, err = addBusUser(info, agents, name)
	c.URL, c.WebSocket = cmp.Or(info.NATS.URL, bus.Address(info, "nats", info.Listen)), bus.Address(info, "ws", info.ListenWebSocket)
	c.believe(info)
	return c, err
}

// RemoveBusUser is Session.RemoveBusUser for a session that does not run.
func RemoveBusUser(ctx context.Context, info Info, name string) (err error) {
	rest := atRest(info)
	defer func() { err = errors.Join(err, rest.Close()) }()
	agents, err := rest.Coordinator(ctx)
	if err != nil {
		return err
	}
	_, err = removeBusUser(info, agents, name)
	return err
}

func addBusUser(info Info, agents *actors.Coordinator, name string) (BusCredentials, []BusUser, error) {
	if err := validBusName(name); err != nil {
		return BusCredentials{}, nil, err
	}
	if _, _, ok := mailbox.AgentID(name).Session(); ok {
		return BusCredentials{}, nil, fmt.Errorf("%q is a name for another session: choose another", name)
	}
	u, seed, err := newBusUser(name)
	if err != nil {
		return BusCredentials{}, nil, err
	}
	if _, err := agents.AddMember(name); err != nil {
		return BusCredentials{}, nil, err
	}
	all, err := info.PutBusUser(u)
	return BusCredentials{BusUser: u, Session: info.ID, Seed: seed}, all, err
}

func removeBusUser(info Info, agents *actors.Coordinator, name string) ([]BusUser, error) {
	t, ok := agents.Find(name)
	if !ok || t.Spec().Role != agent.Outside {
		return nil, fmt.Errorf("the bus of session %s has no user named %q; its users are listed by: swarm bus user list --session %s", info.ID, name, info.ID)
	}
	all, err := info.PutBusUser(BusUser{Name: string(t.ID())}) // first the key, then the mailbox
	if err != nil {
		return nil, err
	}
	return all, agents.RemoveMember(t.ID())
}
