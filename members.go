package swarm

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/api"
	"github.com/actorswarm/swarm/internal/member"
	"github.com/actorswarm/swarm/internal/peer"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/tool"
)

// Member is a program that takes part in the session and is not run by it: others write to
// it by its name, it works on the shared tasks, and it can ask the user. Its methods may be
// called from any goroutine. Each call is a sign of life; a program without one for ten
// minutes loses the tasks that it has claimed.
type Member struct{ m *member.Member }

// What members send and receive.
type (
	Message  = mailbox.Message
	Mail     = mailbox.Received
	TextPart = mailbox.TextPart
	Reply    = event.Reply
)

// Join makes the calling program a member of the session under a name of a-z, 0-9 and
// dashes. A member of that name continues in a new incarnation: requests of the older one
// are refused.
func (s *Session) Join(name string) (*Member, error) {
	m, err := s.members.Join(name)
	if err != nil {
		return nil, err
	}
	return &Member{m}, nil
}

// Name returns the name to which others write.
func (o *Member) Name() string { return o.m.Name() }

// Send writes to an agent, or to all. It returns when the message is on disk.
func (o *Member) Send(l Message) ([]team.SendResult, error) { return o.m.Send(l) }

// Inbox returns the unread messages, oldest first and at most the given number. It waits
// for one until ctx ends, which is no error. A message stays unread until the program calls
// Read: a program that ends before that receives it again.
func (o *Member) Inbox(ctx context.Context, most int) ([]Mail, error) { return o.m.Inbox(ctx, most) }

// Text returns the part of a long message that begins at an offset, in bytes. A Mail with a
// Ref holds only the beginning of its text.
func (o *Member) Text(id mailbox.ID, offset int) (TextPart, error) { return o.m.Text(id, offset) }

// Read acknowledges messages, and notifies their senders. It returns when that is on disk.
func (o *Member) Read(ids ...mailbox.ID) error { return o.m.Read(ids...) }

// AnswerShutdown answers a message of kind shutdown_request: the member ends, or objects,
// which it can do once.
func (o *Member) AnswerShutdown(request string, approve bool, reason string) error {
	return o.m.AnswerShutdown(request, approve, reason)
}

// Task calls TaskCreate, TaskGet, TaskList or TaskUpdate, as agents do, with the input of
// that tool. The result reports what cannot be done.
func (o *Member) Task(ctx context.Context, tool string, input json.RawMessage) (tool.Result, error) {
	return o.m.Task(ctx, tool, input)
}

// Leave releases the tasks that the program has claimed and withdraws its questions. The
// member stays: its mail waits for the next program that joins under its name.
func (o *Member) Leave(ctx context.Context) error { return o.m.Leave(ctx) }

// Ask asks the user a question and waits for the answer until ctx ends, which is no error:
// the question stays, and Answer continues to wait. The answer also comes as a message, in
// case the program has ended by then. Without a user to ask, the error is ErrUnattended.
func (o *Member) Ask(ctx context.Context, q event.Choice) (Reply, error) { return o.m.Ask(ctx, q) }

// Answer waits for the answer to a question of the member until ctx ends, which
// is no error.
func (o *Member) Answer(ctx context.Context, id string) (Reply, error) { return o.m.Answer(ctx, id) }

// ErrUnattended is the error of a question when there is no user to ask.
var ErrUnattended = actors.ErrUnattended

// RemoteMember is a Member of a session that another process runs. Its methods may be
// called from any goroutine.
type RemoteMember struct{ c *member.Client }

// Join makes the calling program a member of the session. See Session.Join.
func (r *Remote) Join(ctx context.Context, name string) (*RemoteMember, error) {
	return r.Rejoin(ctx, name, 0)
}

// Rejoin continues an incarnation that the program had before its connection broke. The
// error is a *SupersededError if another program has joined since.
func (r *Remote) Rejoin(ctx context.Context, name string, incarnation uint32) (*RemoteMember, error) {
	return r.join(ctx, name, incarnation, "")
}

// JoinByKey is Rejoin under a name that belongs to a key, of which the program has the seed
// (BusCredentials.Seed). A process that is not known to be the user's, such as a command of
// an agent, has no other way to join. The error is a *KeyError if the key is not that of
// the name.
func (r *Remote) JoinByKey(ctx context.Context, name, seed string, incarnation uint32) (*RemoteMember, error) {
	proof, err := member.Prove(seed, r.info.ID, name)
	if err != nil {
		return nil, err
	}
	return r.join(ctx, name, incarnation, proof)
}

func (r *Remote) join(ctx context.Context, name string, incarnation uint32, proof string) (*RemoteMember, error) {
	c, err := member.Join(ctx, r.c.Requests, name, incarnation, proof)
	if errors.As(err, new(*CommandError)) {
		err = &KeyError{Name: name, Session: r.info.ID}
	}
	if err != nil {
		return nil, err
	}
	return &RemoteMember{c}, nil
}

// KeyError reports a request in the name of a member that was not proven to be its own.
type KeyError = session.KeyError

// SupersededError reports a request of a program that another program has replaced.
type SupersededError = team.SupersededError

// FinalError reports a member that has ended for good.
type FinalError = actors.FinalError

// Incarnation returns the argument of Rejoin.
func (m *RemoteMember) Incarnation() uint32 { return m.c.Incarnation() }

// Send is Member.Send.
func (m *RemoteMember) Send(ctx context.Context, msg Message) ([]team.SendResult, error) {
	return m.c.Send(ctx, msg)
}

// Inbox is Member.Inbox after a Member.Read of some messages. It waits at most the given
// time.
func (m *RemoteMember) Inbox(ctx context.Context, most int, wait time.Duration, read ...mailbox.ID) ([]Mail, error) {
	return m.c.Inbox(ctx, most, wait, read...)
}

// Text is Member.Text.
func (m *RemoteMember) Text(ctx context.Context, id mailbox.ID, offset int) (TextPart, error) {
	return m.c.Text(ctx, id, offset)
}

// AnswerShutdown is Member.AnswerShutdown.
func (m *RemoteMember) AnswerShutdown(ctx context.Context, request string, approve bool, reason string) error {
	return m.c.AnswerShutdown(ctx, request, approve, reason)
}

// Read is Member.Read.
func (m *RemoteMember) Read(ctx context.Context, ids ...mailbox.ID) error {
	return m.c.Read(ctx, ids...)
}

// Task is Member.Task.
func (m *RemoteMember) Task(ctx context.Context, name string, input json.RawMessage) (tool.Result, error) {
	return m.c.Task(ctx, name, input)
}

// Ask is Member.Ask, which waits at most the given time.
func (m *RemoteMember) Ask(ctx context.Context, q event.Choice, wait time.Duration) (Reply, error) {
	return m.c.Ask(ctx, q, wait)
}

// Answer is Member.Answer, which waits at most the given time.
func (m *RemoteMember) Answer(ctx context.Context, id string, wait time.Duration) (Reply, error) {
	return m.c.Answer(ctx, id, wait)
}

// Leave is Member.Leave.
func (m *RemoteMember) Leave(ctx context.Context) error { return m.c.Leave(ctx) }

// The state of a session's bus and its users.
type (
	BusUser        = session.BusUser
	BusState       = session.BusState
	BusCredentials = session.BusCredentials
)

// Bus is the message bus of a running session, for programs that the session does not run.
type Bus struct{ users *member.Users }

// Bus returns the session's message bus.
func (s *Session) Bus() Bus { return Bus{s.users} }

// State returns where the bus listens and who may use it.
func (b Bus) State() (BusState, error) { return b.users.State() }

// AddUser makes an external program a member of the session and gives it access with a
// fresh key. A member gets a new key, and its old one is invalid from then on.
func (b Bus) AddUser(name string) (BusCredentials, error) { return b.users.Add(name) }

// RemoveUser withdraws the access of an external program at once.
func (b Bus) RemoveUser(name string) error { return b.users.Remove(name) }

// BusUsers returns the users of the bus of a session, running or not, by name.
func BusUsers(i Info) ([]BusUser, error) { return i.BusUsers() }

// KeptBus is Bus.State for a session that does not run: where its bus will listen, as far
// as that is known.
func KeptBus(info Info) (BusState, error) { return member.NewUsers(info, nil, nil).State() }

// AddBusUser is Bus.AddUser for a session that does not run.
func AddBusUser(ctx context.Context, info Info, name string) (c BusCredentials, err error) {
	err = changeUsers(ctx, info, func(users *member.Users) (err error) {
		c, err = users.Add(name)
		return err
	})
	return c, err
}

// RemoveBusUser is Bus.RemoveUser for a session that does not run.
func RemoveBusUser(ctx context.Context, info Info, name string) error {
	return changeUsers(ctx, info, func(users *member.Users) error { return users.Remove(name) })
}

// changeUsers changes the users of the bus of a session that nobody runs.
func changeUsers(ctx context.Context, info Info, change func(*member.Users) error) (err error) {
	rest := atRest(info)
	defer func() { err = errors.Join(err, rest.Close()) }()
	agents, err := rest.Coordinator(ctx)
	if err != nil {
		return err
	}
	return change(member.NewUsers(info, agents, nil))
}

// Peers are the other sessions that this one exchanges mail with.
type Peers struct{ peers *peer.Service }

// Peers returns the other sessions that this one exchanges mail with.
func (s *Session) Peers() Peers { return Peers{s.peers} }

// SetBridge records whether messages may go to a session elsewhere. It returns when that is
// on disk.
func (p Peers) SetBridge(session string, allowed bool) error { return p.peers.Allow(session, allowed) }

// RemoveBridge removes the decision about a session elsewhere: the user is asked again
// before the next message goes there.
func (p Peers) WithdrawBridge(session string) error { return p.peers.Withdraw(session) }

// newPeers returns the exchange of mail with other sessions, which is not started yet.
func (s *Session) newPeers() *peer.Service {
	post := func(ctx context.Context, session string, m peer.Message) (peer.Reply, error) {
		return api.PostTo(ctx, s.opts.StateDir, session, m)
	}
	return peer.New(s.scope, peer.Options{
		Post:   post,
		Record: s.record, StateDir: s.opts.StateDir, Store: s.store, Agents: s.agents, Members: s.members,
		Lead: s.lead.Get, Conn: s.bus.Conn, Forged: turn.CheckForeign, Warn: s.node.Warn, Audit: s.audit.Note,
		NATS: s.opts.NATS.URL != "", Mode: s.opts.Mode, Inbound: s.opts.Inbound, InboundExpiry: s.opts.InboundExpiry, Logger: s.opts.Logger,
	})
}

// SetBridge is Peers.SetBridge for a session that does not run.
func SetBridge(ctx context.Context, info Info, session string, allowed bool) error {
	return changeKept(ctx, info, func(i *Info) error { return i.SetBridge(session, allowed) })
}

// RemoveBridge is Peers.RemoveBridge for a session that does not run.
func WithdrawBridge(ctx context.Context, info Info, session string) error {
	return changeKept(ctx, info, func(i *Info) error { return i.RemoveBridge(session) })
}

// changeKept changes the file of a session that nobody runs, and keeps other processes from
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
