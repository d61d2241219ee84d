package swarm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/api"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/audit"
	"github.com/actorswarm/swarm/internal/bus"
	"github.com/actorswarm/swarm/internal/control"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/fleet"
	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/lifecycle"
	"github.com/actorswarm/swarm/internal/member"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/node"
	"github.com/actorswarm/swarm/internal/peer"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
)

// Session is one swarm on one directory: a lead, its children and teammates, and the node
// in which they run. Its methods may be called from any goroutine.
type Session struct {
	opts   Options
	record *session.File
	parts  node.Parts
	node   *node.Node
	store  *transcript.Store
	agents *coordinator.Coordinator
	roster *roster.Roster
	boards *roster.Boards
	teams  *roster.Manager

	members *member.Service
	peers   *peer.Service

	events *event.Bus
	bus    *bus.Bus
	users  *member.Users // of the bus
	lead   *node.Lead

	control *control.Agents
	fleet   *fleet.Fleet // nil unless agents run in processes of their own
	notes   []string     // problems found when the session was opened

	audit *audit.Log

	scope context.Context
	end   context.CancelCauseFunc
	watch sync.WaitGroup

	stack lifecycle.Stack // of the started parts

	quitting chan struct{} // closed when a process has asked for the end
	quit     sync.Once

	closing sync.Once
	closed  error
}

// Open opens a session: a new one, or with Options.Session an existing one, whose
// interrupted turns continue when Run or Resume is called. Cancelling ctx shuts the session
// down with its turns left open.
func Open(ctx context.Context, o Options) (*Session, error) {
	info, err := o.place()
	if err != nil {
		return nil, err
	}
	s := &Session{opts: o, record: session.NewFile(info), quitting: make(chan struct{})}
	if err := s.read(); err != nil {
		return nil, err
	}
	if err := info.MakeDirs(); err != nil {
		return nil, err
	}
	if err := s.openNode(ctx); err != nil {
		return nil, err
	}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// place completes the options and returns the record of the session and where it is on
// disk.
func (o *Options) place() (Info, error) {
	if err := o.complete(); err != nil {
		return Info{}, err
	}
	if o.Session != "" {
		info, err := FindSession(o.StateDir, o.Dir, o.Session)
		if err != nil {
			return info, err
		}
		return info, o.inherit(&info)
	}
	id := cmp.Or(o.NewSession, uuid.NewString())
	if err := session.CheckID(id); err != nil {
		return Info{}, &OptionError{Err: err}
	}
	info := Info{
		ID: id, Dir: o.Dir, Path: filepath.Join(session.Dir(o.StateDir, o.Dir), id), Created: time.Now(),
		Model: o.Model, Mode: o.Mode, Allow: o.Allow, Deny: o.Deny, MaxTurns: o.MaxTurns, Agents: o.Agents, Settings: o.Settings, System: o.System,
		AddDirs: o.AddDirs, PluginDirs: o.PluginDirs, Deadlines: o.Policy.Deadlines, MCP: o.MCP, StrictMCP: o.StrictMCP,
		Budget: o.Budget, PerChild: o.Policy.ChildBudget, NATS: o.NATS, Inbound: o.Inbound, InboundExpiry: o.InboundExpiry,
	}
	if err := o.inheritListen(&info); err != nil {
		return Info{}, err
	}
	if _, err := session.Read(info.Path); err == nil {
		return info, &OptionError{Err: fmt.Errorf("session %s exists already; go on with it by --resume %s", id, id)}
	}
	return info, nil
}

// inherit sets options that are not given from those of an existing session.
func (o *Options) inherit(i *Info) error {
	c := o.config()
	if note := c.Resume(i); note != "" {
		o.notes = append(o.notes, note)
	}
	o.take(c)
	// Saved for the next time.
	if o.NATS.URL == "" {
		o.NATS = i.NATS
	}
	i.NATS = o.NATS
	o.Inbound, o.InboundExpiry = cmp.Or(o.Inbound, i.Inbound), cmp.Or(o.InboundExpiry, i.InboundExpiry)
	i.Inbound, i.InboundExpiry = o.Inbound, o.InboundExpiry
	return o.inheritListen(i)
}

// inheritListen is inherit for the addresses of the bus.
func (o *Options) inheritListen(i *Info) error {
	l := o.listen()
	err := l.Inherit(i)
	o.listenAt(l)
	return err
}

// read loads definitions, rules and instructions before anything is started.
func (s *Session) read() (err error) {
	c := s.opts.config()
	if s.parts, err = c.Load(s.Info().Granted, s.record.Grant); err != nil {
		return err
	}
	if err := s.parts.Rules.CheckMode(s.opts.Mode); err != nil {
		return &OptionError{Err: err}
	}
	notes, err := c.ReadPlace(s.opts.TeammateMode)
	if err != nil {
		return err
	}
	inbound, more := c.ReadInbound(s.opts.Inbound)
	s.opts.Policy.Where, s.opts.Inbound, s.notes = c.Policy.Where, inbound, slices.Concat(s.opts.notes, s.parts.Rules.Notes(), notes, more)
	return nil
}

// openNode opens the journal.
func (s *Session) openNode(ctx context.Context) error {
	var err error
	s.node, err = node.Open(ctx, node.Options{
		Config: s.opts.config(), Parts: s.parts,
		Session: s.Info().ID, Root: s.Info().Path, Path: s.Info().Path, Journal: journal.Options{FS: s.opts.disk},
	})
	if err != nil {
		return err
	}
	s.store, s.events = s.node.Store, s.node.Events
	s.stack.Push("the journal", func(context.Context) error { return s.node.Close() })
	return nil
}

func (s *Session) start(ctx context.Context) error {
	s.scope, s.end = context.WithCancelCause(ctx)
	s.node.Prepare(s.scope)
	if err := s.record.Save(); err != nil {
		s.end(err)
		return err
	}
	// A process of an agent has no audit file: the owner records its refusals, which arrive
	// as events.
	s.audit = audit.New(audit.Options{Logger: s.opts.Logger, Publish: s.node.PublishAudit, Path: filepath.Join(s.Info().Path, audit.File)})
	if err := s.node.Start(s.scope, s.services(), s.end); err != nil {
		s.end(err)
		return err
	}
	s.agents, s.roster, s.lead, s.boards, s.teams = s.node.Agents, s.node.Roster, s.node.Lead, s.node.Boards, s.node.Teams
	if s.fleet != nil {
		s.roster.ConnectRemote(s.fleet.Directory())
	}
	s.bus = s.newBus()
	s.users = member.NewUsers(s.Info(), s.agents, s.bus)
	s.watch.Go(s.node.FollowBoards)
	s.members = member.New(s.scope, member.Options{
		Session: s.Info().ID, Agents: s.agents, Roster: s.roster, Store: s.store, Boards: s.boards, TaskList: s.node.TaskListOf,
		Object: func(ref mailbox.Ref) string { return ObjectName(s.Info().ID, ref) },
		KeyOf:  s.users.KeyOf, Audit: s.audit.Note, Log: s.opts.Logger,
	})
	s.peers = s.newPeers()
	if s.fleet != nil {
		s.fleet.Attach(s.fleetParts())
	}
	s.control = control.New(control.Options{
		Scope: s.scope, Agents: s.agents, Roster: s.roster, Store: s.store, Detach: s.node.Toolsets.Detach, Begin: s.Begin, Fleet: s.fleet, Grant: s.parts.Rules.Allow,
	})
	s.pushStops()
	s.roster.ConnectSessions(s.peers)
	if err := s.peers.Start(); err != nil {
		return err
	}
	s.watch.Go(s.runBus)
	s.watch.Go(func() { s.audit.Run(s.scope) })
	return nil
}

// pushStops registers how the parts of the session stop: the last one stops first.
func (s *Session) pushStops() {
	s.stack.Push("the bus", func(context.Context) error { s.watch.Wait(); s.members.Wait(); return s.bus.Stop() })
	s.stack.Push("the task lists", func(context.Context) error { return s.node.CloseBoards() })
	s.stack.Push("mail to other sessions", func(context.Context) error { s.peers.Stop(); return nil })
	if s.fleet != nil {
		s.stack.Push("what waits for other processes", func(context.Context) error { return s.fleet.Wait() })
	}
	s.stack.Push("the session's scope", func(context.Context) error { s.end(turn.ErrShutdown); return nil })
	s.stack.Push("the tools", func(context.Context) error { return s.node.Toolsets.Close() })
	if s.fleet != nil {
		s.stack.Push("other processes", s.fleet.Close)
	}
	s.stack.Push("the agents", s.node.Shutdown)
}

// newBus returns the bus of the session, which is not started yet.
func (s *Session) newBus() *bus.Bus {
	return bus.New(s.scope, bus.Options{
		Session: s.Info(), Store: s.store, NATS: s.opts.NATS, Listen: s.opts.listen(), Logger: s.opts.Logger,
		Sole: s.fleet == nil,
		Wake: func(id mailbox.AgentID) {
			s.agents.Wake(id)
			s.members.Wake(id)
		},
		OnError: func(err error) {
			s.node.Warn(err.Error())
		},
		Users:     func() ([]natsd.User, error) { return member.ServerUsers(s.Info()) },
		Authorize: api.Authorize(s.scope, s.Info().ID),
		OnRefusal: func(r natsd.Refusal) {
			s.audit.Note(event.Audit{By: r.User, From: r.From, Reason: r.What})
		},
	})
}

// runBus starts the bus, beside the first model request: until then accepted messages wait
// in their outboxes. A bus that cannot start ends the session, since a swarm whose messages
// go nowhere must not seem alive.
func (s *Session) runBus() {
	err := s.bus.Start()
	if err == nil {
		err = s.bus.Serve(s.handlers()...)
	}
	if err != nil && s.scope.Err() == nil {
		s.end(fmt.Errorf("the message bus of session %s did not start: %w", s.Info().ID, err))
	}
}

// handlers answer requests from outside this process.
func (s *Session) handlers() []bus.Handler {
	all := []bus.Handler{
		func(_, local *nats.Conn) (func() error, error) {
			a, err := api.Open(s.scope, local, api.Parts{
				Session: s, Agents: s, Mail: s, Teams: s.TeamManager(), Bus: s.users, Peers: s.peers, Members: s.members,
			}, api.Options{Events: s.events, Quit: func() { s.quit.Do(func() { close(s.quitting) }) }, Logger: s.opts.Logger})
			if err != nil {
				return nil, err
			}
			return a.Close, nil
		},
		func(mail, _ *nats.Conn) (func() error, error) {
			g, err := member.OpenGateway(s.members, mail, member.GatewayOptions{IsUser: s.users.Has, Audit: s.audit.Note})
			if err != nil {
				return nil, err
			}
			return g.Close, nil
		},
	}
	if s.opts.NATS.URL != "" {
		all = append(all, func(mail, _ *nats.Conn) (func() error, error) {
			return s.peers.Serve(mail)
		})
	}
	if s.fleet != nil {
		all = append(all, func(_, local *nats.Conn) (func() error, error) {
			return func() error { return nil }, s.fleet.Open(local)
		})
	}
	return all
}

// services are what the node needs from this process.
func (s *Session) services() node.Services {
	services := node.Services{
		OpenBoard: func(ctx context.Context, list string) (board.Store, error) {
			return node.OpenBoard(ctx, s.bus, s.Info().ID, list, s.opts.NATS.Replicas)
		},
		Receipt: func(r mailbox.Receipt) bool { return s.bus.Receipt(r) },
		Arrived: func(to agent.Spec, e mailbox.Envelope) { s.members.Arrived(to, e) },
		Gone:    s.gone, Audit: s.audit.Note,
		IsGone: func(id mailbox.AgentID) bool { return s.fleet != nil && s.fleet.IsGone(id) },
	}
	if s.openFleet(); s.fleet != nil {
		services.Remote = s.fleet
	}
	return services
}

// gone releases the tasks of an agent that was shut down. An external program also loses
// its key.
func (s *Session) gone(ctx context.Context, id mailbox.AgentID) error {
	err := s.boards.Release(ctx, id)
	if t, ok := s.store.Get(id); ok && t.Spec().Role == agent.Program {
		err = errors.Join(err, s.users.DropKey(string(id)))
	}
	return err
}

// ID returns the session's id.
func (s *Session) ID() string { return s.Info().ID }

// Info returns the record of the session: how it was started and where it is on disk.
func (s *Session) Info() Info {
	return s.record.Get()
}

// Problems returns the problems of agent definitions, CLAUDE.md files and the session's
// files, one per line.
func (s *Session) Problems() []string {
	var all []string
	for _, p := range s.parts.Definitions.Problems() {
		all = append(all, p.String())
	}
	return slices.Concat(all, s.opts.config().HookProblems(), s.opts.config().SandboxNotes(), s.opts.listen().Exposed(), s.parts.Definitions.Notes(), s.parts.NotesOnServers(), s.store.Notes(), s.notes)
}

// Definitions returns the current agent types of the session, without those that a rule
// denies.
func (s *Session) Definitions() *defs.Set { return s.parts.Definitions.Set() }

// ErrOpen reports that another process has the session open: a session has one owner.
var ErrOpen = journal.ErrLocked

// Ready returns when other processes can reach the session through Dial, or with the reason
// why they cannot.
func (s *Session) Ready(ctx context.Context) error {
	_, err := s.bus.LocalConn(ctx)
	return err
}

// Wait returns when the session ends by itself, for example because its journal fails, or
// when ctx ends, with the cause.
func (s *Session) Wait(ctx context.Context) error {
	select {
	case <-s.scope.Done():
		return context.Cause(s.scope)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Quitting is closed when another process has asked the session to end. Its owner then
// closes it.
func (s *Session) Quitting() <-chan struct{} { return s.quitting }

// The state of a session for a process that joins it.
type (
	Welcome   = session.Welcome
	AgentType = session.AgentType
)

// Types returns the types of agents that can be started.
func (s *Session) Types() []AgentType { return session.AgentTypes(s.Definitions()) }

// Events returns a subscription to all events from now on.
func (s *Session) Events() *event.Subscription { return s.events.Subscribe() }

// Send writes a message from the user to an agent, or with "*" to all. It
// returns when the message is on disk.
func (s *Session) Send(to, text string) ([]team.SendResult, error) { return s.SendClass(to, text, "") }

// SendClass is Send for a message of a class: class control interrupts the agent and is
// read first.
func (s *Session) SendClass(to, text string, c mailbox.Class) ([]team.SendResult, error) {
	user, ok := s.store.Get(agent.UserID)
	if !ok {
		return nil, archive.ErrNoOutbox
	}
	return s.roster.Send(user, team.Message{To: to, Text: text, Class: c})
}

// Close shuts the session down: it leaves running turns open, ends every process and
// goroutine, and has all accepted messages on disk when it returns. It may be called more
// than once.
func (s *Session) Close() error {
	s.closing.Do(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.scope), closeWithin)
		defer cancel()
		s.closed = s.stack.Stop(ctx)
	})
	return s.closed
}

// closeWithin bounds how long Close waits for turns and the server.
const closeWithin = 2 * time.Second

// ObjectName returns the name, bucket/name, under which the server of a session has the
// whole text of a message with a Ref, until its receiver has read it.
func ObjectName(session string, ref mailbox.Ref) string { return bus.ObjectName(session, ref) }
