package swarm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/journal"
	"github.com/actorswarm/swarm/internal/member"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/peer"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
	"github.com/actorswarm/swarm/tool/builtin"
	"github.com/nats-io/nats.go"
)

// The requests that a running session answers to other processes of its user. What
// commands of agents may ask follows from the class.
var (
	apiHello = rpc.Method[rpc.None, helloOut]{Name: "hello", Class: rpc.Observe}
	apiTail  = rpc.Method[rpc.None, rpc.None]{Name: "tail", Class: rpc.Observe}
	// apiUntail ends what tail has begun.
	apiUntail = rpc.Method[rpc.None, rpc.None]{Name: "untail", Class: rpc.Observe}
	apiQuit   = rpc.Method[rpc.None, rpc.None]{Name: "quit"}

	apiAgents     = rpc.Method[rpc.None, agentsOut]{Name: "ps", Class: rpc.Observe}
	apiAgent      = rpc.Method[agentIn, agentsOut]{Name: "agent"} // commands have ps
	apiStop       = rpc.Method[agentIn, rpc.None]{Name: "stop", Within: closeWithin}
	apiKill       = rpc.Method[agentIn, rpc.None]{Name: "kill", Within: closeWithin}
	apiStopTree   = rpc.Method[agentIn, treeOut]{Name: "stoptree", Within: treeWithin}
	apiKillTree   = rpc.Method[agentIn, treeOut]{Name: "killtree", Within: treeWithin}
	apiDown       = rpc.Method[downIn, downOut]{Name: "down"}
	apiBackground = rpc.Method[agentIn, rpc.None]{Name: "bg"}
	apiForeground = rpc.Method[rpc.None, movedOut]{Name: "bgall"}
	apiInterrupt  = rpc.Method[agentIn, cutOut]{Name: "interrupt"}
	apiCompact    = rpc.Method[agentIn, rpc.None]{Name: "compact", Within: compactWithin}
	apiModel      = rpc.Method[agentIn, rpc.None]{Name: "model"}

	apiSend      = rpc.Method[sendIn, postedOut]{Name: "send"}
	apiSay       = rpc.Method[sayIn, rpc.None]{Name: "say"}
	apiInbox     = rpc.Method[agentIn, tracesOut]{Name: "mailbox", Class: rpc.Observe}
	apiMessage   = rpc.Method[agentIn, tracesOut]{Name: "message", Class: rpc.Observe}
	apiLetter    = rpc.Method[letterIn, letterOut]{Name: "letter", Class: rpc.Participate} // of another session, which a command may have started
	apiQuestions = rpc.Method[rpc.None, questionsOut]{Name: "questions", Class: rpc.Observe}
	apiAnswer    = rpc.Method[questionIn, rpc.None]{Name: "answer"}

	apiBridge         = rpc.Method[bridgeIn, rpc.None]{Name: "bridge"}
	apiBridgeWithdraw = rpc.Method[bridgeIn, rpc.None]{Name: "bridge-withdraw"}
	apiBus            = rpc.Method[rpc.None, busOut]{Name: "bus", Class: rpc.Observe}
	apiBusAdd         = rpc.Method[agentIn, credentialsOut]{Name: "bus-add"}
	apiBusRemove      = rpc.Method[agentIn, rpc.None]{Name: "bus-remove"}

	apiTasks      = rpc.Method[rpc.None, tasksOut]{Name: "tasks", Within: closeWithin, Class: rpc.Observe}
	apiTeams      = rpc.Method[rpc.None, teamsOut]{Name: "teams", Within: teamWithin, Class: rpc.Observe}
	apiTeam       = rpc.Method[agentIn, teamOut]{Name: "team", Within: teamWithin, Class: rpc.Observe}
	apiTeamUp     = rpc.Method[teamUpIn, teamOut]{Name: "team-up", Within: teamWithin}
	apiTeamAdd    = rpc.Method[teamAddIn, teamOut]{Name: "team-add", Within: teamWithin}
	apiTeamRemove = rpc.Method[teamRemoveIn, rpc.None]{Name: "team-remove", Within: teamWithin}
	apiTeamDown   = rpc.Method[agentIn, rpc.None]{Name: "team-down", Within: teamWithin}
)

// How long a request may take.
const (
	treeWithin    = 10 * time.Second // the end of an agent with all that work for it
	teamWithin    = time.Minute      // members come to life, or end, which each may take its time for
	compactWithin = 15 * time.Minute // the agent may be in a long call first
)

// What requests take.
type (
	agentIn struct { // or what else has a name: a message, a team, a user of the bus
		Name string `json:"name,omitempty"`
	}
	downIn struct {
		Names []string      `json:"names,omitempty"`
		Grace time.Duration `json:"grace,omitempty"`
	}
	sendIn struct {
		To    string        `json:"to,omitempty"`
		Text  string        `json:"text,omitempty"`
		Class mailbox.Class `json:"class,omitempty"`
	}
	sayIn struct {
		Text string `json:"text,omitempty"`
	}
	letterIn struct {
		Letter *peer.Message `json:"letter,omitempty"`
	}
	questionIn struct {
		Name   string  `json:"name,omitempty"` // its id
		Answer *Answer `json:"answer,omitempty"`
	}
	bridgeIn struct {
		Name  string `json:"name,omitempty"` // the session
		Allow bool   `json:"allow,omitempty"`
	}
	teamUpIn struct {
		Team *TeamFile `json:"team,omitempty"`
	}
	teamAddIn struct {
		Name   string      `json:"name,omitempty"`
		Member *TeamMember `json:"member,omitempty"`
	}
	teamRemoveIn struct {
		Member string `json:"to,omitempty"`
		Name   string `json:"name,omitempty"`
	}
)

// What they answer.
type (
	helloOut struct {
		Welcome *Welcome `json:"welcome,omitempty"`
	}
	agentsOut struct {
		Agents []actors.Status `json:"agents,omitempty"`
		Info   *Info           `json:"info,omitempty"`
	}
	treeOut struct {
		Ended []Ended `json:"ended,omitempty"`
	}
	downOut struct {
		Gone []Departure `json:"gone,omitempty"`
	}
	movedOut struct {
		Moved []string `json:"moved,omitempty"`
	}
	cutOut struct {
		Cut bool `json:"cut,omitempty"`
	}
	postedOut struct {
		Posted []member.Posted `json:"posted,omitempty"`
	}
	tracesOut struct {
		Traces []Trace `json:"traces,omitempty"`
	}
	letterOut struct {
		Letter *peer.Reply `json:"letter,omitempty"`
	}
	questionsOut struct {
		Questions []Question `json:"questions,omitempty"`
	}
	busOut struct {
		Bus *BusState `json:"bus,omitempty"`
	}
	credentialsOut struct {
		Credentials *BusCredentials `json:"credentials,omitempty"`
	}
	tasksOut struct {
		Tasks []board.Task `json:"tasks,omitempty"`
	}
	teamsOut struct {
		Teams []team.Team `json:"teams,omitempty"`
	}
	teamOut struct {
		Team *team.Status `json:"team,omitempty"`
	}
)

var errNoTeam = errors.New("the request names no team or member to make")

// apiErrors are the errors that are the same for a session and a Remote.
func apiErrors() rpc.Errors {
	return append(member.Errors(), rpc.Value("unattended", 0, ErrUnattended), rpc.Value("team.no_session", 0, team.ErrNoSession))
}

func apiSubject(session string) rpc.Subject {
	return rpc.Subject("sw." + session + ".api.{method}")
}

func eventSubject(session string) string { return "sw." + session + ".ev" }

// api answers other processes of the user on the session's own server, and tells
// them what happens.
type api struct {
	*rpc.Server
	s    *Session
	conn *nats.Conn
	work sync.WaitGroup

	publishing sync.Once    // once somebody has asked for events
	readers    atomic.Int32 // who has asked for them and has not left
}

// newAPI returns the API of a session with all its methods.
func newAPI(s *Session) *api {
	a := &api{s: s, Server: rpc.NewServer(s.scope, rpc.ServerOptions{Log: s.opts.Logger, Errors: apiErrors()})}
	a.handleSession()
	a.handleAgents()
	a.handleMail()
	a.handleTeams()
	a.handleBus()
	s.members.Serve(a.Server)
	return a
}

func openAPI(s *Session, conn *nats.Conn) (*api, error) {
	a := newAPI(s)
	a.conn = conn
	err := a.Open(conn, apiSubject(s.Info().ID))
	if err == nil {
		err = conn.FlushTimeout(closeWithin) // whoever finds the socket is answered
	}
	if err != nil {
		return nil, fmt.Errorf("open the session to other processes: %w", err)
	}
	return a, nil
}

// close waits for what is being answered and told. It is called once the session's
// scope has ended.
func (a *api) close() error {
	err := a.Close()
	a.work.Wait()
	return err
}

// plain handles a method that takes nothing.
func plain[Out any](s *rpc.Server, m rpc.Method[rpc.None, Out], f func(context.Context) (Out, error)) {
	rpc.Handle(s, m, func(ctx context.Context, _ rpc.Caller, _ rpc.None) (Out, error) { return f(ctx) })
}

// named handles a method that takes a name.
func named[Out any](s *rpc.Server, m rpc.Method[agentIn, Out], f func(ctx context.Context, name string) (Out, error)) {
	rpc.Handle(s, m, func(ctx context.Context, _ rpc.Caller, in agentIn) (Out, error) { return f(ctx, in.Name) })
}

// acted is named for a method that returns nothing.
func acted(s *rpc.Server, m rpc.Method[agentIn, rpc.None], f func(ctx context.Context, name string) error) {
	named(s, m, func(ctx context.Context, name string) (rpc.None, error) { return rpc.None{}, f(ctx, name) })
}

func (a *api) handleSession() {
	s := a.s
	plain(a.Server, apiHello, func(context.Context) (helloOut, error) {
		w, err := s.welcome()
		return helloOut{&w}, err
	})
	plain(a.Server, apiQuit, func(context.Context) (rpc.None, error) {
		s.askToQuit()
		return rpc.None{}, nil
	})
	plain(a.Server, apiTail, func(context.Context) (rpc.None, error) {
		a.tail()
		return rpc.None{}, nil
	})
	plain(a.Server, apiUntail, func(context.Context) (rpc.None, error) {
		a.readers.Add(-1)
		return rpc.None{}, nil
	})
}

func (a *api) handleAgents() {
	s := a.s
	plain(a.Server, apiAgents, func(context.Context) (agentsOut, error) {
		info := s.Info()
		return agentsOut{s.Agents(), &info}, nil
	})
	named(a.Server, apiAgent, func(_ context.Context, name string) (agentsOut, error) {
		status, err := s.Agent(name)
		return agentsOut{Agents: []actors.Status{status}}, err
	})
	acted(a.Server, apiStop, func(ctx context.Context, name string) error { return s.Stop(ctx, name) })
	acted(a.Server, apiKill, func(ctx context.Context, name string) error { return s.Kill(ctx, name) })
	named(a.Server, apiStopTree, func(ctx context.Context, name string) (treeOut, error) {
		ended, err := s.StopTree(ctx, name)
		return treeOut{ended}, err
	})
	named(a.Server, apiKillTree, func(ctx context.Context, name string) (treeOut, error) {
		ended, err := s.KillTree(ctx, name)
		return treeOut{ended}, err
	})
	rpc.Handle(a.Server, apiDown, func(ctx context.Context, _ rpc.Caller, in downIn) (downOut, error) {
		ctx, cancel := context.WithTimeout(ctx, in.Grace+treeWithin)
		defer cancel()
		gone, err := s.Down(ctx, in.Names, in.Grace)
		return downOut{gone}, err
	})
	acted(a.Server, apiBackground, func(_ context.Context, name string) error { return s.Background(name) })
	plain(a.Server, apiForeground, func(context.Context) (movedOut, error) { return movedOut{s.BackgroundForeground()}, nil })
	named(a.Server, apiInterrupt, func(_ context.Context, name string) (out cutOut, err error) {
		if name == "" {
			return cutOut{s.Interrupt()}, nil
		}
		out.Cut, err = s.InterruptAgent(name)
		return out, err
	})
	acted(a.Server, apiCompact, func(ctx context.Context, name string) error { return s.Compact(ctx, name) })
	acted(a.Server, apiModel, func(_ context.Context, name string) error { return s.SetModel(name) })
}

func (a *api) handleMail() {
	s := a.s
	rpc.Handle(a.Server, apiSend, func(_ context.Context, _ rpc.Caller, in sendIn) (postedOut, error) {
		posted, err := s.SendClass(in.To, in.Text, in.Class)
		return postedOut{member.EncodePosted(posted)}, err
	})
	rpc.Handle(a.Server, apiSay, func(_ context.Context, _ rpc.Caller, in sayIn) (rpc.None, error) {
		return rpc.None{}, s.Say(in.Text)
	})
	named(a.Server, apiInbox, func(_ context.Context, name string) (tracesOut, error) {
		all, err := s.Inbox(name)
		return tracesOut{all}, err
	})
	named(a.Server, apiMessage, func(_ context.Context, id string) (tracesOut, error) {
		m, err := s.Message(mailbox.ID(id))
		return tracesOut{[]Trace{m}}, err
	})
	rpc.Handle(a.Server, apiLetter, func(_ context.Context, _ rpc.Caller, in letterIn) (letterOut, error) {
		if in.Letter == nil {
			return letterOut{}, peer.ErrNoMessage
		}
		out, err := s.peers.Receive(mailbox.OfSession(in.Letter.Session), in.Letter)
		return letterOut{&out}, err
	})
	plain(a.Server, apiQuestions, func(context.Context) (questionsOut, error) { return questionsOut{s.Questions()}, nil })
	rpc.Handle(a.Server, apiAnswer, func(_ context.Context, _ rpc.Caller, in questionIn) (rpc.None, error) {
		if in.Answer == nil {
			return rpc.None{}, errNoAnswer
		}
		return rpc.None{}, s.Answer(in.Name, *in.Answer)
	})
}

func (a *api) handleTeams() {
	s := a.s
	plain(a.Server, apiTasks, func(ctx context.Context) (tasksOut, error) {
		tasks, err := s.Tasks(ctx)
		return tasksOut{tasks}, err
	})
	plain(a.Server, apiTeams, func(context.Context) (teamsOut, error) { return teamsOut{s.Teams()}, nil })
	named(a.Server, apiTeam, func(ctx context.Context, name string) (teamOut, error) {
		status, err := s.Team(ctx, name)
		return teamOut{&status}, err
	})
	rpc.Handle(a.Server, apiTeamUp, func(ctx context.Context, _ rpc.Caller, in teamUpIn) (teamOut, error) {
		if in.Team == nil {
			return teamOut{}, errNoTeam
		}
		status, err := s.TeamUp(ctx, *in.Team)
		return teamOut{&status}, err
	})
	rpc.Handle(a.Server, apiTeamAdd, func(ctx context.Context, _ rpc.Caller, in teamAddIn) (teamOut, error) {
		if in.Member == nil {
			return teamOut{}, errNoTeam
		}
		status, err := s.TeamAdd(ctx, in.Name, *in.Member)
		return teamOut{&status}, err
	})
	rpc.Handle(a.Server, apiTeamRemove, func(ctx context.Context, _ rpc.Caller, in teamRemoveIn) (rpc.None, error) {
		return rpc.None{}, s.TeamRemove(ctx, in.Name, in.Member)
	})
	acted(a.Server, apiTeamDown, func(ctx context.Context, name string) error { return s.TeamDown(ctx, name) })
}

func (a *api) handleBus() {
	s := a.s
	plain(a.Server, apiBus, func(context.Context) (busOut, error) {
		bus, err := s.users.State()
		return busOut{&bus}, err
	})
	named(a.Server, apiBusAdd, func(_ context.Context, name string) (credentialsOut, error) {
		made, err := s.users.Add(name)
		return credentialsOut{&made}, err
	})
	acted(a.Server, apiBusRemove, func(_ context.Context, name string) error { return s.users.Remove(name) })
	rpc.Handle(a.Server, apiBridge, func(_ context.Context, _ rpc.Caller, in bridgeIn) (rpc.None, error) {
		return rpc.None{}, s.peers.Allow(in.Name, in.Allow)
	})
	rpc.Handle(a.Server, apiBridgeWithdraw, func(_ context.Context, _ rpc.Caller, in bridgeIn) (rpc.None, error) {
		return rpc.None{}, s.peers.Withdraw(in.Name)
	})
}

// tail publishes the session's facts for one more reader.
func (a *api) tail() {
	a.readers.Add(1)
	a.publishing.Do(func() {
		sub := a.s.events.Subscribe()
		a.work.Go(func() { a.publishAll(sub) })
	})
}

// publishAll publishes every fact until the session ends, and then that it has ended.
func (a *api) publishAll(sub *event.Subscription) {
	defer sub.Close()
	// The end of the scope may overtake what was published before it: what is left is
	// read in a second round.
	for range 2 {
		for {
			e, err := sub.Next(a.s.scope)
			if err != nil {
				break
			}
			a.publish(e)
		}
	}
	if err := a.publishEnd(); err != nil {
		a.s.opts.Logger.Warn("not everybody who follows the session heard its end", "error", err)
	}
}

func (a *api) publish(e event.Event) {
	raw, err := json.Marshal(e)
	if err == nil {
		err = a.conn.Publish(eventSubject(a.s.Info().ID), raw)
	}
	if err != nil {
		a.s.opts.Logger.Warn("an event could not be published", "type", event.Type(e.Fact), "error", err)
	}
}

// endWithin is how long the end of a session waits for those who follow it.
const endWithin = 250 * time.Millisecond

// publishEnd tells those who follow the session that nothing more comes, and waits
// until they have read all of it: the server closes after that.
func (a *api) publishEnd() error {
	inbox := a.conn.NewRespInbox()
	acks, err := a.conn.SubscribeSync(inbox)
	if err != nil {
		return err
	}
	if err := a.conn.PublishRequest(eventSubject(a.s.Info().ID), inbox, nil); err != nil {
		return err
	}
	limit := time.Now().Add(endWithin)
	for range a.readers.Load() {
		if _, err := acks.NextMsg(time.Until(limit)); err != nil {
			return err
		}
	}
	return nil
}

// ErrOpen is the cause when a session is open in another process already: a
// session has one owner.
var ErrOpen = journal.ErrLocked

// Ready returns when other processes can reach the session through Dial, or
// with what kept it from that.
func (s *Session) Ready(ctx context.Context) error {
	_, err := s.bus.Served(ctx)
	return err
}

// Wait returns when the session ends by itself, as it does when its journal
// fails, or ctx ends, with the cause.
func (s *Session) Wait(ctx context.Context) error {
	select {
	case <-s.scope.Done():
		return context.Cause(s.scope)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Quitting is closed when another process has asked for the end of the session.
// Its owner then closes it.
func (s *Session) Quitting() <-chan struct{} { return s.quitting }

func (s *Session) askToQuit() { s.quit.Do(func() { close(s.quitting) }) }

// Welcome is what those who join a running session get to know first.
type Welcome struct {
	Info  Info        `json:"info"`
	PID   int         `json:"pid"` // of the process that runs the session
	Last  Exchange    `json:"last"`
	Types []AgentType `json:"types"` // that agents can be started with
}

// AgentType is what a definition says to people.
type AgentType struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Color       string `json:"color,omitempty"`
}

// Types returns the types of agents that can be started.
func (s *Session) Types() []AgentType {
	var all []AgentType
	for _, d := range s.Definitions().Active {
		all = append(all, AgentType{Name: d.Name, Description: d.Description, Color: d.Color})
	}
	return all
}

func (s *Session) welcome() (Welcome, error) {
	last, err := s.LastExchange()
	return Welcome{Info: s.Info(), PID: os.Getpid(), Last: last, Types: s.Types()}, err
}

// visitor returns what a process that connects to the socket may do; nil is
// everything, which the user may.
func (s *Session) visitor(pid int) *natsd.User {
	marks, err := builtin.MarksOf(pid)
	own, _ := builtin.MarksOf(os.Getpid()) // a session may itself be the command of an agent of another
	return authorize(s.Info().ID, marks, own, err)
}

// authorize decides by the marks that a process bears. A command that an agent has
// started is of the same user and is not the user: it must not answer what its
// agent asks, nor speak in the user's name. It fails closed: a process that cannot
// be read, which is what err says, is taken for such a command.
func authorize(session string, marks, own []builtin.Mark, err error) *natsd.User {
	at := slices.IndexFunc(marks, func(m builtin.Mark) bool {
		return m.Session == session || !slices.ContainsFunc(own, func(o builtin.Mark) bool { return o.Session == m.Session })
	})
	if err == nil && at < 0 {
		return nil
	}
	u := &natsd.User{Subscribe: []string{eventSubject(session)}}
	if at >= 0 {
		u.Name = cmp.Or(marks[at].Agent, "a command")
	}
	for _, method := range newAPI(&Session{members: new(member.Service)}).Methods(rpc.Observe, rpc.Participate) {
		u.Publish = append(u.Publish, apiSubject(session).To(method))
	}
	return u
}
