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

// Member is a program that is a member of the session without being run by it:
// others write to it by its name, it works on the shared tasks, and it can ask the
// user. Its methods may be called from any goroutine. Each is a sign of life; a
// program that gives none for ten minutes loses the tasks that it has taken.
type Member struct{ m *member.Member }

// What outside members send, receive and are answered.
type (
	Message  = mailbox.Message
	Mail     = mailbox.Received
	TextPart = mailbox.TextPart
	Reply    = event.Reply
)

// Join makes the program that calls a member of the session under a name, of a-z,
// 0-9 and dashes. The member of that name goes on in a new incarnation: what an
// older one does from then on is refused.
func (s *Session) Join(name string) (*Member, error) {
	m, err := s.members.Join(name)
	if err != nil {
		return nil, err
	}
	return &Member{m}, nil
}

// Name returns the name that others write to.
func (o *Member) Name() string { return o.m.Name() }

// Send writes to an agent, or to all. It returns when the message is on disk.
func (o *Member) Send(l Message) ([]team.SendResult, error) { return o.m.Send(l) }

// Inbox returns the unread messages, oldest first and at most so many of them. It
// waits for one until ctx ends, which is no error. A message stays unread until
// Read says that the program has it: one that dies before is given it again.
func (o *Member) Inbox(ctx context.Context, most int) ([]Mail, error) { return o.m.Inbox(ctx, most) }

// Text returns the part of the text of a message to the member that begins at an
// offset, in bytes. Of a message that has a Ref, Mail holds only the beginning.
func (o *Member) Text(id mailbox.ID, offset int) (TextPart, error) { return o.m.Text(id, offset) }

// Read says that the program has messages; their senders are told. It returns
// when that is on disk.
func (o *Member) Read(ids ...mailbox.ID) error { return o.m.Read(ids...) }

// AnswerShutdown is the member's answer to a message of kind shutdown_request: it
// ends, or objects, which it can do once.
func (o *Member) AnswerShutdown(request string, approve bool, reason string) error {
	return o.m.AnswerShutdown(request, approve, reason)
}

// Task calls TaskCreate, TaskGet, TaskList or TaskUpdate, as the agents do, with
// the input of that tool. What cannot be done is said in the result.
func (o *Member) Task(ctx context.Context, tool string, input json.RawMessage) (tool.Result, error) {
	return o.m.Task(ctx, tool, input)
}

// Leave gives back the tasks that the program has taken and withdraws what it
// asks. The member stays: its mail waits for who joins as it next.
func (o *Member) Leave(ctx context.Context) error { return o.m.Leave(ctx) }

// Ask puts a question to the user and waits for the answer until ctx ends, which
// is no error: the question stays, and Answer goes on waiting. The answer comes as
// a message too, in case the program is gone by then. Where nobody can be asked it
// is ErrUnattended.
func (o *Member) Ask(ctx context.Context, q event.Choice) (Reply, error) { return o.m.Ask(ctx, q) }

// Answer waits for the answer to a question of the member until ctx ends, which
// is no error.
func (o *Member) Answer(ctx context.Context, id string) (Reply, error) { return o.m.Answer(ctx, id) }

// ErrUnattended is the answer to a question where there is nobody to ask.
var ErrUnattended = actors.ErrUnattended

// RemoteMember is an Outsider of a session that another process runs. Its
// methods may be called from any goroutine.
type RemoteMember struct{ c *member.Client }

// Join makes the program that calls a member of the session. See Session.Join.
func (r *Remote) Join(ctx context.Context, name string) (*RemoteMember, error) {
	return r.Rejoin(ctx, name, 0)
}

// Rejoin goes on in an incarnation that the program had before its connection
// broke. It is a *SupersededError if another program has joined since.
func (r *Remote) Rejoin(ctx context.Context, name string, incarnation uint32) (*RemoteMember, error) {
	c, err := member.Join(ctx, r.c.Requests, name, incarnation)
	if err != nil {
		return nil, err
	}
	return &RemoteMember{c}, nil
}

// SupersededError reports a request of a program whose place another has taken.
type SupersededError = team.SupersededError

// FinalError reports a member that was ended for good.
type FinalError = actors.FinalError

// Incarnation is what Rejoin takes.
func (o *RemoteMember) Incarnation() uint32 { return o.c.Incarnation() }

// Send is Outsider.Send.
func (o *RemoteMember) Send(ctx context.Context, l Message) ([]team.SendResult, error) {
	return o.c.Send(ctx, l)
}

// Inbox is Outsider.Inbox after an Outsider.Read of some messages. It waits for at
// most the time given.
func (o *RemoteMember) Inbox(ctx context.Context, most int, wait time.Duration, read ...mailbox.ID) ([]Mail, error) {
	return o.c.Inbox(ctx, most, wait, read...)
}

// Text is Outsider.Text.
func (o *RemoteMember) Text(ctx context.Context, id mailbox.ID, offset int) (TextPart, error) {
	return o.c.Text(ctx, id, offset)
}

// AnswerShutdown is Outsider.AnswerShutdown.
func (o *RemoteMember) AnswerShutdown(ctx context.Context, request string, approve bool, reason string) error {
	return o.c.AnswerShutdown(ctx, request, approve, reason)
}

// Read is Outsider.Read.
func (o *RemoteMember) Read(ctx context.Context, ids ...mailbox.ID) error {
	return o.c.Read(ctx, ids...)
}

// Task is Outsider.Task.
func (o *RemoteMember) Task(ctx context.Context, name string, input json.RawMessage) (tool.Result, error) {
	return o.c.Task(ctx, name, input)
}

// Ask is Outsider.Ask, which waits for at most the time given.
func (o *RemoteMember) Ask(ctx context.Context, q event.Choice, wait time.Duration) (Reply, error) {
	return o.c.Ask(ctx, q, wait)
}

// Answer is Outsider.Answer, which waits for at most the time given.
func (o *RemoteMember) Answer(ctx context.Context, id string, wait time.Duration) (Reply, error) {
	return o.c.Answer(ctx, id, wait)
}

// Leave is Outsider.Leave.
func (o *RemoteMember) Leave(ctx context.Context) error { return o.c.Leave(ctx) }

// What is known of a session's bus and its users.
type (
	BusUser        = session.BusUser
	BusState       = session.BusState
	BusCredentials = session.BusCredentials
)

// Bus is the message bus of a running session, as programs that the session does not run
// use it.
type Bus struct{ users *member.Users }

// Bus returns the session's message bus.
func (s *Session) Bus() Bus { return Bus{s.users} }

// State returns where the bus listens and who may use it.
func (b Bus) State() (BusState, error) { return b.users.State() }

// AddUser makes a program outside a member of the session and lets it in, with
// a fresh key. One that is a member already gets a new key, and its old one is
// worth nothing from then on.
func (b Bus) AddUser(name string) (BusCredentials, error) { return b.users.Add(name) }

// RemoveUser ends what a program outside may do, at once.
func (b Bus) RemoveUser(name string) error { return b.users.Remove(name) }

// BusUsers returns who may use the bus of a session, running or not, by name.
func BusUsers(i Info) ([]BusUser, error) { return i.BusUsers() }

// KeptBus is Bus.State for a session that does not run: where its bus will listen, as
// far as that is known.
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

// SetBridge keeps whether messages may go to a session elsewhere. It returns when
// that is on disk.
func (p Peers) SetBridge(session string, allowed bool) error { return p.peers.Allow(session, allowed) }

// RemoveBridge forgets what was said about a session elsewhere: the user is
// asked again before the next message goes there.
func (p Peers) WithdrawBridge(session string) error { return p.peers.Withdraw(session) }

// newPeers returns what passes mail to and from other sessions, which does not run yet.
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

// RemoveBridge is Peers.WithdrawBridge for a session that does not run.
func WithdrawBridge(ctx context.Context, info Info, session string) error {
	return changeKept(ctx, info, func(i *Info) error { return i.RemoveBridge(session) })
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
