package swarm

import (
	"context"
	"fmt"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/api"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/member"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
)

// Remote is a running session of this machine, seen from another process.
type Remote struct {
	info Info
	c    *api.Client
}

// CommandError reports a request that a session accepts from its user and not from commands
// of agents.
type CommandError = session.CommandError

// Dial connects to the process that runs a session.
func Dial(stateDir string, info Info) (*Remote, error) {
	c, err := api.Dial(stateDir, info)
	if err != nil {
		return nil, err
	}
	return &Remote{info, c}, nil
}

// call makes a request whose only answer is an error.
func call[In any](ctx context.Context, r *Remote, m rpc.Method[In, rpc.None], in In) error {
	_, err := rpc.Call(ctx, r.c.Requests, m, in)
	return err
}

// Send writes a message from the user to an agent of the session. It returns
// when the session has the message on disk.
func (r *Remote) Send(ctx context.Context, to, text string) ([]team.SendResult, error) {
	out, err := rpc.Call(ctx, r.c.Requests, api.Send, api.SendIn{To: to, Text: text})
	return member.DecodeResults(out.Posted), err
}

// Agents returns the status of every agent of the session.
func (r *Remote) Agents(ctx context.Context) ([]actors.Status, error) {
	out, err := rpc.Call(ctx, r.c.Requests, api.ListAgents, rpc.None{})
	return out.Agents, err
}

// Tasks returns the tasks of the session's list.
func (r *Remote) Tasks(ctx context.Context) ([]board.Task, error) {
	out, err := rpc.Call(ctx, r.c.Requests, api.ListTasks, rpc.None{})
	return out.Tasks, err
}

// Stop ends an agent of the session.
func (r *Remote) Stop(ctx context.Context, name string) error {
	return call(ctx, r, api.Stop, api.NameIn{Name: name})
}

// Kill ends an agent of the session for good.
func (r *Remote) Kill(ctx context.Context, name string) error {
	return call(ctx, r, api.Kill, api.NameIn{Name: name})
}

// StopTree ends an agent of the session and all that work for it. See
// Session.StopTree.
func (r *Remote) StopTree(ctx context.Context, name string) ([]Ended, error) {
	out, err := rpc.Call(ctx, r.c.Requests, api.StopTree, api.NameIn{Name: name})
	return out.Ended, err
}

// KillTree ends an agent of the session and all that work for it, for good.
func (r *Remote) KillTree(ctx context.Context, name string) ([]Ended, error) {
	out, err := rpc.Call(ctx, r.c.Requests, api.KillTree, api.NameIn{Name: name})
	return out.Ended, err
}

// Down shuts agents of the session down, without names all but the lead. See
// Session.Down.
func (r *Remote) Down(ctx context.Context, names []string, grace time.Duration) ([]ShutdownResult, error) {
	out, err := rpc.Call(ctx, r.c.Requests, api.Down, api.DownIn{Names: names, Grace: grace})
	return out.Gone, err
}

// Background moves a running foreground agent of the session to the background.
func (r *Remote) Background(ctx context.Context, name string) error {
	return call(ctx, r, api.Background, api.NameIn{Name: name})
}

// Bus returns where the session's bus listens and who has access.
func (r *Remote) Bus(ctx context.Context) (BusState, error) {
	out, err := rpc.Call(ctx, r.c.Requests, api.DescribeBus, rpc.None{})
	if err != nil || out.Bus == nil {
		return BusState{}, err
	}
	return *out.Bus, nil
}

// AddBusUser is Bus.AddUser.
func (r *Remote) AddBusUser(ctx context.Context, name string) (BusCredentials, error) {
	out, err := rpc.Call(ctx, r.c.Requests, api.AddBusUser, api.NameIn{Name: name})
	if err != nil || out.Credentials == nil {
		return BusCredentials{}, err
	}
	return *out.Credentials, nil
}

// RemoveBusUser is Bus.RemoveUser.
func (r *Remote) RemoveBusUser(ctx context.Context, name string) error {
	return call(ctx, r, api.RemoveBusUser, api.NameIn{Name: name})
}

// SetBridge is Peers.SetBridge.
func (r *Remote) SetBridge(ctx context.Context, session string, allowed bool) error {
	return call(ctx, r, api.SetBridge, api.BridgeIn{Name: session, Allow: allowed})
}

// WithdrawBridge is Peers.RemoveBridge.
func (r *Remote) WithdrawBridge(ctx context.Context, session string) error {
	return call(ctx, r, api.WithdrawBridge, api.BridgeIn{Name: session})
}

// Questions returns the open questions of the session's agents.
func (r *Remote) Questions(ctx context.Context) ([]Question, error) {
	out, err := rpc.Call(ctx, r.c.Requests, api.ListQuestions, rpc.None{})
	return out.Questions, err
}

// Answer answers a question of the session. It returns when the answer is on disk there.
func (r *Remote) Answer(ctx context.Context, id string, a Answer) error {
	return call(ctx, r, api.Answer, api.AnswerIn{Name: id, Answer: &a})
}

// Compact makes an agent of the session summarise its conversation. See
// Session.Compact.
func (r *Remote) Compact(ctx context.Context, name string) error {
	return call(ctx, r, api.Compact, api.NameIn{Name: name})
}

// Agent is Session.Agent.
func (r *Remote) Agent(ctx context.Context, name string) (actors.Status, error) {
	out, err := rpc.Call(ctx, r.c.Requests, api.FindAgent, api.NameIn{Name: name})
	if err != nil {
		return actors.Status{}, err
	}
	return archive.StatusOf(out.Agents, "")
}

// Inbox is Session.Inbox.
func (r *Remote) Inbox(ctx context.Context, name string) ([]Trace, error) {
	out, err := rpc.Call(ctx, r.c.Requests, api.ReadInbox, api.NameIn{Name: name})
	return out.Traces, err
}

// Message is Session.Message.
func (r *Remote) Message(ctx context.Context, id mailbox.ID) (Trace, error) {
	out, err := rpc.Call(ctx, r.c.Requests, api.FindMessage, api.NameIn{Name: string(id)})
	if err != nil || len(out.Traces) == 0 {
		return Trace{}, err
	}
	return out.Traces[0], nil
}

// SendClass is Send for a message of a class; "" is the default class.
func (r *Remote) SendClass(ctx context.Context, to, text string, c mailbox.Class) ([]team.SendResult, error) {
	out, err := rpc.Call(ctx, r.c.Requests, api.Send, api.SendIn{To: to, Text: text, Class: c})
	return member.DecodeResults(out.Posted), err
}

// Hello returns the state of the session for a process that joins it.
func (r *Remote) Hello(ctx context.Context) (Welcome, error) {
	out, err := rpc.Call(ctx, r.c.Requests, api.Hello, rpc.None{})
	if err != nil {
		return Welcome{}, err
	}
	if out.Welcome == nil {
		return Welcome{}, fmt.Errorf("session %s is run by another version of swarm, which cannot be joined; join it with that one, or end it and go on with this: swarm quit %s, swarm resume %s", r.info.ID, r.info.ID, r.info.ID)
	}
	out.Welcome.Info.Path = r.info.Path
	return *out.Welcome, nil
}

// Say sends a text of the user to the lead. See Session.Say.
func (r *Remote) Say(ctx context.Context, text string) error {
	return call(ctx, r, api.Say, api.SayIn{Text: text})
}

// Interrupt ends the turn of an agent, by name or id, "" for the lead, and
// reports whether there was one. See Session.InterruptAgent.
func (r *Remote) Interrupt(ctx context.Context, name string) (bool, error) {
	out, err := rpc.Call(ctx, r.c.Requests, api.Interrupt, api.NameIn{Name: name})
	return out.Cut, err
}

// BackgroundForeground moves what the lead waits for to the background. See
// Session.BackgroundForeground.
func (r *Remote) BackgroundForeground(ctx context.Context) ([]string, error) {
	out, err := rpc.Call(ctx, r.c.Requests, api.BackgroundAll, rpc.None{})
	return out.Moved, err
}

// SetModel changes the model of the lead. See Session.SetModel.
func (r *Remote) SetModel(ctx context.Context, name string) error {
	return call(ctx, r, api.SetModel, api.NameIn{Name: name})
}

// Quit asks the owner of the session to end it with its turns left open, and returns when
// the owner answers no more.
func (r *Remote) Quit(ctx context.Context) error { return r.c.Quit(ctx) }

// Teams is Session.Teams.
func (r *Remote) Teams(ctx context.Context) ([]team.Team, error) {
	out, err := rpc.Call(ctx, r.c.Requests, api.ListTeams, rpc.None{})
	return out.Teams, err
}

// Team is Session.Team.
func (r *Remote) Team(ctx context.Context, name string) (team.Status, error) {
	return statusOf(rpc.Call(ctx, r.c.Requests, api.FindTeam, api.NameIn{Name: name}))
}

// TeamUp is TeamManager.Up.
func (r *Remote) TeamUp(ctx context.Context, f TeamFile) (team.Status, error) {
	return statusOf(rpc.Call(ctx, r.c.Requests, api.TeamUp, api.TeamUpIn{Team: &f}))
}

// TeamAdd is TeamManager.Add.
func (r *Remote) TeamAdd(ctx context.Context, name string, m TeamMember) (team.Status, error) {
	return statusOf(rpc.Call(ctx, r.c.Requests, api.TeamAdd, api.TeamAddIn{Name: name, Member: &m}))
}

// TeamRemove is TeamManager.Remove.
func (r *Remote) TeamRemove(ctx context.Context, name, member string) error {
	return call(ctx, r, api.TeamRemove, api.TeamRemoveIn{Name: name, Member: member})
}

// TeamDown is TeamManager.Down.
func (r *Remote) TeamDown(ctx context.Context, name string) error {
	return call(ctx, r, api.TeamDown, api.NameIn{Name: name})
}

// statusOf returns the status of a team from a response.
func statusOf(out api.TeamOut, err error) (team.Status, error) {
	if err != nil || out.Team == nil {
		return team.Status{}, err
	}
	return *out.Team, nil
}

// Close closes the connection. The session continues.
func (r *Remote) Close() error {
	r.c.Close()
	return nil
}

// Info returns the record of the session when the connection was made.
func (r *Remote) Info() Info { return r.info }

var (
	// ErrEnded is the error of a Remote whose session has ended.
	ErrEnded = api.ErrEnded
	// ErrOwnerGone is ErrEnded for a session that was not closed: its process has ended,
	// and another one may continue it.
	ErrOwnerGone = api.ErrOwnerGone
)

// Feed delivers the events of a running session to another process.
type Feed struct{ f *api.Feed }

// Feed subscribes to the events of the session: every fact from now on is received.
func (r *Remote) Feed(ctx context.Context) (*Feed, error) {
	f, err := r.c.Feed(ctx)
	if err != nil {
		return nil, err
	}
	return &Feed{f}, nil
}

// Events calls see with each fact of the session, as JSON, until ctx ends, see returns an
// error, or the session ends, which is ErrEnded.
func (r *Remote) Events(ctx context.Context, see func(raw []byte) error) error {
	f, err := r.Feed(ctx)
	if err != nil {
		return err
	}
	return f.Each(ctx, see)
}

// Each calls see with each fact, as JSON, until ctx ends, see returns an error, or the
// session ends, which is ErrEnded, or ErrOwnerGone if it was not closed. Each is called
// once.
func (f *Feed) Each(ctx context.Context, see func(raw []byte) error) error { return f.f.Each(ctx, see) }
