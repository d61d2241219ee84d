package swarm

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/actorswarm/swarm/agent"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/transcript"
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
	s.busMu.Lock()
	defer s.busMu.Unlock()
	users, err := BusUsers(s.Info())
	return BusState{URL: s.busURL, WebSocket: s.busWebSocket, Users: users}, err
}

// KeptBus is Session.Bus for a session that does not run: where its bus will listen, as
// far as that is known.
func KeptBus(info Info) (BusState, error) {
	users, err := BusUsers(info)
	return BusState{URL: cmp.Or(info.NATS.URL, listensAt(info, "nats", info.Listen)), WebSocket: listensAt(info, "ws", info.ListenWebSocket), Users: users}, err
}

// AddBusUser makes a program outside a member of the session and lets it in, with
// a fresh key. One that is a member already gets a new key, and its old one is
// worth nothing from then on.
func (s *Session) AddBusUser(name string) (BusCredentials, error) {
	s.busMu.Lock()
	defer s.busMu.Unlock()
	c, all, err := addBusUser(s.Info(), s.agents, name)
	if err != nil {
		return c, err
	}
	s.admit(all)
	c.URL, c.WebSocket = s.busURL, s.busWebSocket
	c.believe(s.Info())
	return c, nil
}

// RemoveBusUser ends what a program outside may do, at once.
func (s *Session) RemoveBusUser(name string) error {
	s.busMu.Lock()
	defer s.busMu.Unlock()
	all, err := removeBusUser(s.Info(), s.agents, name)
	if err == nil {
		s.admit(all)
	}
	return err
}

// dropKey takes the key of a user, if it is one.
func (s *Session) dropKey(name string) error {
	s.busMu.Lock()
	defer s.busMu.Unlock()
	all, err := s.Info().PutBusUser(BusUser{Name: name})
	if err == nil {
		s.admit(all)
	}
	return err
}

// admit tells the server who may come in. busMu is held.
func (s *Session) admit(all []BusUser) {
	if s.busServer != nil {
		s.busServer.SetUsers(serverUsers(s.Info().ID, all))
	}
}

// AddBusUser is Session.AddBusUser for a session that does not run.
func AddBusUser(ctx context.Context, info Info, name string) (c BusCredentials, err error) {
	k, err := openKept(ctx, info, transcript.Options{})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	c, _, err = addBusUser(info, k.agents, name)
	c.URL, c.WebSocket = cmp.Or(info.NATS.URL, listensAt(info, "nats", info.Listen)), listensAt(info, "ws", info.ListenWebSocket)
	c.believe(info)
	return c, err
}

// RemoveBusUser is Session.RemoveBusUser for a session that does not run.
func RemoveBusUser(ctx context.Context, info Info, name string) (err error) {
	k, err := openKept(ctx, info, transcript.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	_, err = removeBusUser(info, k.agents, name)
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
	if _, err := agents.Enlist(name); err != nil {
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
	return all, agents.Expel(t.ID())
}
