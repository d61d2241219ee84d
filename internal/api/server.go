package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/member"
	"github.com/actorswarm/swarm/internal/peer"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/workerapi"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
	"github.com/actorswarm/swarm/team/teamfile"
	"github.com/nats-io/nats.go"
)

// Parts are the parts of a session that answer. All are required.
type Parts struct {
	Session Session
	Agents  Agents
	Mail    Mail
	Teams   Teams
	Bus     *member.Users
	Peers   *peer.Service
	Members *member.Service
}

// Session is the session with its lead.
type Session interface {
	Info() session.Info
	Definitions() *defs.Set
	LastExchange() (session.Exchange, error)
	Tasks(context.Context) ([]board.Task, error)
	Say(text string) error
	SetModel(name string) error
}

// Agents are the agents of a session, as its user sees and steers them.
type Agents interface {
	Agents() []actors.Status
	Agent(name string) (actors.Status, error)
	Stop(ctx context.Context, name string) error
	Kill(ctx context.Context, name string) error
	StopTree(ctx context.Context, name string) ([]actors.Ended, error)
	KillTree(ctx context.Context, name string) ([]actors.Ended, error)
	Down(ctx context.Context, names []string, grace time.Duration) ([]actors.ShutdownResult, error)
	Background(name string) error
	BackgroundForeground() []string
	Interrupt() bool
	InterruptAgent(name string) (bool, error)
	Compact(ctx context.Context, name string) error
}

// Mail is the mail of a session, and what its agents ask the user.
type Mail interface {
	SendClass(to, text string, c mailbox.Class) ([]team.SendResult, error)
	Inbox(name string) ([]mailbox.Trace, error)
	Message(id mailbox.ID) (mailbox.Trace, error)
	Questions() []event.Question
	Answer(id string, a event.Answer) error
}

// Teams are the teams of a session.
type Teams interface {
	List() []team.Team
	Status(ctx context.Context, name string) (team.Status, error)
	Up(ctx context.Context, f teamfile.Team) (team.Status, error)
	Add(ctx context.Context, name string, m teamfile.Member) (team.Status, error)
	Remove(ctx context.Context, name, member string) error
	Down(ctx context.Context, name string) error
}

// Options are what a server needs besides. Events and Quit are required.
type Options struct {
	Events *event.Bus
	Quit   func()       // is called when a client asks for the end of the session
	Logger *slog.Logger // nil discards
}

// Server answers other processes of the user on the session's own server, and publishes
// what happens.
type Server struct {
	*rpc.Server
	p         Parts
	o         Options
	publisher publisher
}

// Open answers the requests that come over a connection. A request, and what is
// published, ends with ctx.
func Open(ctx context.Context, conn *nats.Conn, p Parts, o Options) (*Server, error) {
	id := p.Session.Info().ID
	s := newServer(ctx, p, o)
	s.publisher = publisher{ctx: ctx, conn: conn, subject: EventSubject(id), events: o.Events, log: s.o.Logger}
	err := s.Server.Open(conn, Subject(id))
	if err == nil {
		err = conn.FlushTimeout(soon) // from then on requests are answered
	}
	if err != nil {
		return nil, fmt.Errorf("open the session to other processes: %w", err)
	}
	return s, nil
}

// newServer returns a server with all its methods, which need their parts only when they
// are called.
func newServer(ctx context.Context, p Parts, o Options) *Server {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{p: p, o: o, Server: rpc.NewServer(ctx, rpc.ServerOptions{Log: o.Logger, Errors: Errors()})}
	s.handleSession()
	s.handleAgents()
	s.handleEnds()
	s.handleMail()
	s.handleQuestions()
	s.handleTeams()
	s.handleTeamChanges()
	s.handleBus()
	p.Members.Serve(s.Server)
	return s
}

// Close waits for what is being answered and published. It is called once the context of
// Open has ended.
func (s *Server) Close() error {
	err := s.Server.Close()
	s.publisher.work.Wait()
	return err
}

// plain handles a method that takes nothing.
func plain[Out any](s *Server, m rpc.Method[rpc.None, Out], f func(context.Context) (Out, error)) {
	rpc.Handle(s.Server, m, func(ctx context.Context, _ rpc.Caller, _ rpc.None) (Out, error) { return f(ctx) })
}

// signal handles a method that takes and returns nothing and cannot fail.
func signal(s *Server, m rpc.Method[rpc.None, rpc.None], f func()) {
	plain(s, m, func(context.Context) (rpc.None, error) { f(); return rpc.None{}, nil })
}

// handle handles a method for anybody who may ask.
func handle[In, Out any](s *Server, m rpc.Method[In, Out], f func(ctx context.Context, in In) (Out, error)) {
	rpc.Handle(s.Server, m, func(ctx context.Context, _ rpc.Caller, in In) (Out, error) { return f(ctx, in) })
}

// named handles a method that takes a name.
func named[Out any](s *Server, m rpc.Method[NameIn, Out], f func(ctx context.Context, name string) (Out, error)) {
	handle(s, m, func(ctx context.Context, in NameIn) (Out, error) { return f(ctx, in.Name) })
}

// acted is named for a method that returns nothing.
func acted(s *Server, m rpc.Method[NameIn, rpc.None], f func(ctx context.Context, name string) error) {
	named(s, m, func(ctx context.Context, name string) (rpc.None, error) { return rpc.None{}, f(ctx, name) })
}

func (s *Server) handleSession() {
	plain(s, Hello, func(context.Context) (HelloOut, error) {
		last, err := s.p.Session.LastExchange()
		return HelloOut{&session.Welcome{
			Info: s.p.Session.Info(), PID: os.Getpid(), Last: last, Types: session.AgentTypes(s.p.Session.Definitions()),
		}}, err
	})
	signal(s, Quit, func() { s.o.Quit() })
	signal(s, Tail, s.publisher.tail)
	signal(s, Untail, s.publisher.untail)
	plain(s, ListTasks, func(ctx context.Context) (TasksOut, error) {
		tasks, err := s.p.Session.Tasks(ctx)
		return TasksOut{tasks}, err
	})
	handle(s, Say, func(_ context.Context, in SayIn) (rpc.None, error) { return rpc.None{}, s.p.Session.Say(in.Text) })
	acted(s, SetModel, func(_ context.Context, name string) error { return s.p.Session.SetModel(name) })
}

func (s *Server) handleAgents() {
	plain(s, ListAgents, func(context.Context) (AgentsOut, error) {
		info := s.p.Session.Info()
		return AgentsOut{s.p.Agents.Agents(), &info}, nil
	})
	named(s, FindAgent, func(_ context.Context, name string) (AgentsOut, error) {
		status, err := s.p.Agents.Agent(name)
		return AgentsOut{Agents: []actors.Status{status}}, err
	})
	acted(s, Background, func(_ context.Context, name string) error { return s.p.Agents.Background(name) })
	plain(s, BackgroundAll, func(context.Context) (MovedOut, error) {
		return MovedOut{s.p.Agents.BackgroundForeground()}, nil
	})
	named(s, Interrupt, func(_ context.Context, name string) (out CutOut, err error) {
		if name == "" {
			return CutOut{s.p.Agents.Interrupt()}, nil
		}
		out.Cut, err = s.p.Agents.InterruptAgent(name)
		return out, err
	})
	acted(s, Compact, func(ctx context.Context, name string) error { return s.p.Agents.Compact(ctx, name) })
}

func (s *Server) handleEnds() {
	acted(s, Stop, func(ctx context.Context, name string) error { return s.p.Agents.Stop(ctx, name) })
	acted(s, Kill, func(ctx context.Context, name string) error { return s.p.Agents.Kill(ctx, name) })
	named(s, StopTree, func(ctx context.Context, name string) (EndedOut, error) {
		ended, err := s.p.Agents.StopTree(ctx, name)
		return EndedOut{ended}, err
	})
	named(s, KillTree, func(ctx context.Context, name string) (EndedOut, error) {
		ended, err := s.p.Agents.KillTree(ctx, name)
		return EndedOut{ended}, err
	})
	handle(s, Down, func(ctx context.Context, in DownIn) (DownOut, error) {
		ctx, cancel := context.WithTimeout(ctx, in.Grace+treeWithin)
		defer cancel()
		gone, err := s.p.Agents.Down(ctx, in.Names, in.Grace)
		return DownOut{gone}, err
	})
}

func (s *Server) handleMail() {
	handle(s, Send, func(_ context.Context, in SendIn) (PostedOut, error) {
		posted, err := s.p.Mail.SendClass(in.To, in.Text, in.Class)
		return PostedOut{member.EncodeResults(posted)}, err
	})
	named(s, ReadInbox, func(_ context.Context, name string) (TracesOut, error) {
		all, err := s.p.Mail.Inbox(name)
		return TracesOut{all}, err
	})
	named(s, FindMessage, func(_ context.Context, id string) (TracesOut, error) {
		m, err := s.p.Mail.Message(mailbox.ID(id))
		return TracesOut{[]mailbox.Trace{m}}, err
	})
	handle(s, Post, func(_ context.Context, in PostIn) (PostOut, error) {
		if in.Message == nil {
			return PostOut{}, peer.ErrNoMessage
		}
		out, err := s.p.Peers.Receive(mailbox.PeerID(in.Message.Session), in.Message)
		return PostOut{&out}, err
	})
}

func (s *Server) handleQuestions() {
	plain(s, ListQuestions, func(context.Context) (QuestionsOut, error) {
		return QuestionsOut{s.p.Mail.Questions()}, nil
	})
	handle(s, Answer, func(_ context.Context, in AnswerIn) (rpc.None, error) {
		if in.Answer == nil {
			return rpc.None{}, workerapi.ErrNoAnswer
		}
		return rpc.None{}, s.p.Mail.Answer(in.Name, *in.Answer)
	})
}

func (s *Server) handleTeams() {
	plain(s, ListTeams, func(context.Context) (TeamsOut, error) { return TeamsOut{s.p.Teams.List()}, nil })
	named(s, FindTeam, func(ctx context.Context, name string) (TeamOut, error) {
		status, err := s.p.Teams.Status(ctx, name)
		return TeamOut{&status}, err
	})
}

var errNoTeam = errors.New("the request names no team or member to make")

func (s *Server) handleTeamChanges() {
	handle(s, TeamUp, func(ctx context.Context, in TeamUpIn) (TeamOut, error) {
		if in.Team == nil {
			return TeamOut{}, errNoTeam
		}
		status, err := s.p.Teams.Up(ctx, *in.Team)
		return TeamOut{&status}, err
	})
	handle(s, TeamAdd, func(ctx context.Context, in TeamAddIn) (TeamOut, error) {
		if in.Member == nil {
			return TeamOut{}, errNoTeam
		}
		status, err := s.p.Teams.Add(ctx, in.Name, *in.Member)
		return TeamOut{&status}, err
	})
	handle(s, TeamRemove, func(ctx context.Context, in TeamRemoveIn) (rpc.None, error) {
		return rpc.None{}, s.p.Teams.Remove(ctx, in.Name, in.Member)
	})
	acted(s, TeamDown, func(ctx context.Context, name string) error { return s.p.Teams.Down(ctx, name) })
}

func (s *Server) handleBus() {
	plain(s, DescribeBus, func(context.Context) (BusOut, error) {
		bus, err := s.p.Bus.State()
		return BusOut{&bus}, err
	})
	named(s, AddBusUser, func(_ context.Context, name string) (CredentialsOut, error) {
		made, err := s.p.Bus.Add(name)
		return CredentialsOut{&made}, err
	})
	acted(s, RemoveBusUser, func(_ context.Context, name string) error { return s.p.Bus.Remove(name) })
	handle(s, SetBridge, func(_ context.Context, in BridgeIn) (rpc.None, error) {
		return rpc.None{}, s.p.Peers.Allow(in.Name, in.Allow)
	})
	handle(s, WithdrawBridge, func(_ context.Context, in BridgeIn) (rpc.None, error) {
		return rpc.None{}, s.p.Peers.Withdraw(in.Name)
	})
}
