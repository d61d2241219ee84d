package swarm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/bus"
	"github.com/actorswarm/swarm/internal/member"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/peer"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/tool"
)

// Outsider is a program that is a member of the session without being run by it:
// others write to it by its name, it works on the shared tasks, and it can ask the
// user. Its methods may be called from any goroutine. Each is a sign of life; a
// program that gives none for ten minutes loses the tasks that it has taken.
type Outsider struct{ m *member.Member }

// What outside members send, receive and are answered.
type (
	Letter   = mailbox.Message
	Mail     = mailbox.Received
	TextPart = mailbox.TextPart
	Reply    = event.Reply
)

// Join makes the program that calls a member of the session under a name, of a-z,
// 0-9 and dashes. The member of that name goes on in a new incarnation: what an
// older one does from then on is refused.
func (s *Session) Join(name string) (*Outsider, error) {
	m, err := s.members.Join(name)
	if err != nil {
		return nil, err
	}
	return &Outsider{m}, nil
}

// Name returns the name that others write to.
func (o *Outsider) Name() string { return o.m.Name() }

// Send writes to an agent, or to all. It returns when the message is on disk.
func (o *Outsider) Send(l Letter) ([]team.Posted, error) { return o.m.Send(l) }

// Inbox returns the unread messages, oldest first and at most so many of them. It
// waits for one until ctx ends, which is no error. A message stays unread until
// Read says that the program has it: one that dies before is given it again.
func (o *Outsider) Inbox(ctx context.Context, most int) ([]Mail, error) { return o.m.Inbox(ctx, most) }

// Text returns the part of the text of a message to the member that begins at an
// offset, in bytes. Of a message that has a Ref, Mail holds only the beginning.
func (o *Outsider) Text(id mailbox.ID, offset int) (TextPart, error) { return o.m.Text(id, offset) }

// Read says that the program has messages; their senders are told. It returns
// when that is on disk.
func (o *Outsider) Read(ids ...mailbox.ID) error { return o.m.Read(ids...) }

// AnswerShutdown is the member's answer to a message of kind shutdown_request: it
// ends, or objects, which it can do once.
func (o *Outsider) AnswerShutdown(request string, approve bool, reason string) error {
	return o.m.AnswerShutdown(request, approve, reason)
}

// Task calls TaskCreate, TaskGet, TaskList or TaskUpdate, as the agents do, with
// the input of that tool. What cannot be done is said in the result.
func (o *Outsider) Task(ctx context.Context, tool string, input json.RawMessage) (tool.Result, error) {
	return o.m.Task(ctx, tool, input)
}

// Leave gives back the tasks that the program has taken and withdraws what it
// asks. The member stays: its mail waits for who joins as it next.
func (o *Outsider) Leave(ctx context.Context) error { return o.m.Leave(ctx) }

// Ask puts a question to the user and waits for the answer until ctx ends, which
// is no error: the question stays, and Answer goes on waiting. The answer comes as
// a message too, in case the program is gone by then. Where nobody can be asked it
// is ErrUnattended.
func (o *Outsider) Ask(ctx context.Context, q event.Choice) (Reply, error) { return o.m.Ask(ctx, q) }

// Answer waits for the answer to a question of the member until ctx ends, which
// is no error.
func (o *Outsider) Answer(ctx context.Context, id string) (Reply, error) { return o.m.Answer(ctx, id) }

// ErrUnattended is the answer to a question where there is nobody to ask.
var ErrUnattended = actors.ErrUnattended

// RemoteOutsider is an Outsider of a session that another process runs. Its
// methods may be called from any goroutine.
type RemoteOutsider struct{ c *member.Client }

// Join makes the program that calls a member of the session. See Session.Join.
func (r *Remote) Join(ctx context.Context, name string) (*RemoteOutsider, error) {
	return r.Rejoin(ctx, name, 0)
}

// Rejoin goes on in an incarnation that the program had before its connection
// broke. It is a *SupersededError if another program has joined since.
func (r *Remote) Rejoin(ctx context.Context, name string, incarnation uint32) (*RemoteOutsider, error) {
	c, err := member.Join(ctx, r.client, name, incarnation)
	if err != nil {
		return nil, err
	}
	return &RemoteOutsider{c}, nil
}

// SupersededError reports a request of a program whose place another has taken.
type SupersededError = team.SupersededError

// FinalError reports a member that was ended for good.
type FinalError = actors.FinalError

// Incarnation is what Rejoin takes.
func (o *RemoteOutsider) Incarnation() uint32 { return o.c.Incarnation() }

// Send is Outsider.Send.
func (o *RemoteOutsider) Send(ctx context.Context, l Letter) ([]team.Posted, error) {
	return o.c.Send(ctx, l)
}

// Inbox is Outsider.Inbox after an Outsider.Read of some messages. It waits for at
// most the time given.
func (o *RemoteOutsider) Inbox(ctx context.Context, most int, wait time.Duration, read ...mailbox.ID) ([]Mail, error) {
	return o.c.Inbox(ctx, most, wait, read...)
}

// Text is Outsider.Text.
func (o *RemoteOutsider) Text(ctx context.Context, id mailbox.ID, offset int) (TextPart, error) {
	return o.c.Text(ctx, id, offset)
}

// AnswerShutdown is Outsider.AnswerShutdown.
func (o *RemoteOutsider) AnswerShutdown(ctx context.Context, request string, approve bool, reason string) error {
	return o.c.AnswerShutdown(ctx, request, approve, reason)
}

// Read is Outsider.Read.
func (o *RemoteOutsider) Read(ctx context.Context, ids ...mailbox.ID) error {
	return o.c.Read(ctx, ids...)
}

// Task is Outsider.Task.
func (o *RemoteOutsider) Task(ctx context.Context, name string, input json.RawMessage) (tool.Result, error) {
	return o.c.Task(ctx, name, input)
}

// Ask is Outsider.Ask, which waits for at most the time given.
func (o *RemoteOutsider) Ask(ctx context.Context, q event.Choice, wait time.Duration) (Reply, error) {
	return o.c.Ask(ctx, q, wait)
}

// Answer is Outsider.Answer, which waits for at most the time given.
func (o *RemoteOutsider) Answer(ctx context.Context, id string, wait time.Duration) (Reply, error) {
	return o.c.Answer(ctx, id, wait)
}

// Leave is Outsider.Leave.
func (o *RemoteOutsider) Leave(ctx context.Context) error { return o.c.Leave(ctx) }

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

// BusState is what is known of a running session's bus.
type BusState struct {
	URL       string    `json:"url,omitempty"`
	WebSocket string    `json:"websocket,omitempty"`
	Users     []BusUser `json:"users"`
}

// Bus returns where the session's bus listens and who may use it.
func (s *Session) Bus() (BusState, error) {
	url, webSocket := s.bus.URLs()
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
	c.URL, c.WebSocket = s.bus.URLs()
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
	return s.bus.ChangeUsers(func() ([]natsd.User, error) {
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

// newPeers returns what passes mail to and from other sessions, which does not run yet.
func (s *Session) newPeers() *peer.Service {
	return peer.New(s.scope, peer.Options{
		Record: s.record, StateDir: s.opts.StateDir, Store: s.store, Agents: s.agents, Members: s.members,
		Lead: s.lead.Get, Post: s.postMessage, Conn: s.bus.Conn, Forged: turn.CheckForeign, Warn: s.node.Warn, Audit: s.audit.Note,
		NATS: s.opts.NATS.URL != "", Mode: s.opts.Mode, Inbound: s.opts.Inbound, InboundExpiry: s.opts.InboundExpiry, Logger: s.opts.Logger,
	})
}

// postMessage posts a message through the socket of a session of this machine.
func (s *Session) postMessage(ctx context.Context, session string, m peer.Message) (peer.Reply, error) {
	r, err := Dial(s.opts.StateDir, Info{ID: session})
	if err != nil {
		return peer.Reply{}, err
	}
	defer r.Close()
	out, err := rpc.Call(ctx, r.client, apiLetter, letterIn{&m})
	if err != nil || out.Letter == nil {
		return peer.Reply{}, errors.Join(err, errNoVerdict)
	}
	return *out.Letter, nil
}

var errNoVerdict = errors.New("the session did not say what became of the letter")

// SetBridge keeps whether messages may go to a session elsewhere. It returns when
// that is on disk.
func (s *Session) SetBridge(session string, allowed bool) error {
	return s.peers.Allow(session, allowed)
}

// WithdrawBridge forgets what was said about a session elsewhere: the user is
// asked again before the next message goes there.
func (s *Session) WithdrawBridge(session string) error {
	return s.record.Update(func(i *Info) error { return i.WithdrawBridge(session) })
}

// SetBridge is Session.SetBridge for a session that does not run.
func SetBridge(ctx context.Context, info Info, session string, allowed bool) error {
	return changeKept(ctx, info, func(i *Info) error { return i.SetBridge(session, allowed) })
}

// WithdrawBridge is Session.WithdrawBridge for a session that does not run.
func WithdrawBridge(ctx context.Context, info Info, session string) error {
	return changeKept(ctx, info, func(i *Info) error { return i.WithdrawBridge(session) })
}

// changeKept writes the file of a session that nobody runs, and keeps others from
// running it meanwhile.
func changeKept(ctx context.Context, info Info, change func(*Info) error) (err error) {
	rest := atRest(info)
	defer func() { err = errors.Join(err, rest.Close()) }()
	if _, err := rest.Coordinator(ctx); err != nil {
		return err
	}
	now, err := session.Read(info.Path) // it may have run since
	if err != nil {
		return err
	}
	return session.NewFile(now).Update(change)
}
