package swarm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/member"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
	"github.com/nats-io/nats.go"
)

// Remote is a running session of this machine, seen from another process.
type Remote struct {
	info   Info
	conn   *nats.Conn
	client *rpc.Client
	gone   chan struct{} // closed when the connection has ended
}

// CommandError reports a request that a session takes from its user and not from
// commands of agents.
type CommandError struct{ Verb string }

func (e *CommandError) Error() string {
	return fmt.Sprintf("this was started by an agent, and %q is for the user: ask the user to do it", e.Verb)
}

// Dial reaches the process that runs a session.
func Dial(stateDir string, info Info) (*Remote, error) {
	r := &Remote{info: info, gone: make(chan struct{})}
	refusals := new(rpc.Refusals)
	var err error
	// Who runs the session next is another process, with which nothing has been
	// agreed: the connection does not come back by itself.
	r.conn, err = natsd.DialUnix(info.Socket(stateDir), nats.NoReconnect(),
		nats.ErrorHandler(refusals.Report), nats.ClosedHandler(func(*nats.Conn) { close(r.gone) }))
	if err != nil {
		return nil, errors.Join(&NotRunningError{ID: info.ID}, err)
	}
	r.client = rpc.NewClient(r.conn, apiSubject(info.ID), rpc.ClientOptions{Errors: apiErrors(), Refusals: refusals, Failed: r.failed})
	return r, nil
}

// failed is the error for a request that the session has not answered.
func (r *Remote) failed(method string, err error) error {
	if errors.Is(err, rpc.ErrNotPermitted) {
		return &CommandError{Verb: method}
	}
	return fmt.Errorf("ask session %s to %s: %w", r.info.ID, method, err)
}

// Send writes a message from the user to an agent of the session. It returns
// when the session has the message on disk.
func (r *Remote) Send(ctx context.Context, to, text string) ([]team.Posted, error) {
	out, err := rpc.Call(ctx, r.client, apiSend, sendIn{To: to, Text: text})
	return member.DecodePosted(out.Posted), err
}

// Agents returns a look at every agent of the session.
func (r *Remote) Agents(ctx context.Context) ([]actors.Status, error) {
	out, err := rpc.Call(ctx, r.client, apiAgents, rpc.None{})
	return out.Agents, err
}

// Tasks returns the tasks of the session's list.
func (r *Remote) Tasks(ctx context.Context) ([]board.Task, error) {
	out, err := rpc.Call(ctx, r.client, apiTasks, rpc.None{})
	return out.Tasks, err
}

// Stop ends an agent of the session.
func (r *Remote) Stop(ctx context.Context, name string) error {
	_, err := rpc.Call(ctx, r.client, apiStop, agentIn{name})
	return err
}

// Kill ends an agent of the session for good.
func (r *Remote) Kill(ctx context.Context, name string) error {
	_, err := rpc.Call(ctx, r.client, apiKill, agentIn{name})
	return err
}

// StopTree ends an agent of the session and all that work for it. See
// Session.StopTree.
func (r *Remote) StopTree(ctx context.Context, name string) ([]Ended, error) {
	out, err := rpc.Call(ctx, r.client, apiStopTree, agentIn{name})
	return out.Ended, err
}

// KillTree ends an agent of the session and all that work for it, for good.
func (r *Remote) KillTree(ctx context.Context, name string) ([]Ended, error) {
	out, err := rpc.Call(ctx, r.client, apiKillTree, agentIn{name})
	return out.Ended, err
}

// Down shuts agents of the session down, without names all but the lead. See
// Session.Down.
func (r *Remote) Down(ctx context.Context, names []string, grace time.Duration) ([]Departure, error) {
	out, err := rpc.Call(ctx, r.client, apiDown, downIn{names, grace})
	return out.Gone, err
}

// Background lets a foreground agent of the session go on in the background.
func (r *Remote) Background(ctx context.Context, name string) error {
	_, err := rpc.Call(ctx, r.client, apiBackground, agentIn{name})
	return err
}

// Bus returns where the session's bus listens and who may use it.
func (r *Remote) Bus(ctx context.Context) (BusState, error) {
	out, err := rpc.Call(ctx, r.client, apiBus, rpc.None{})
	if err != nil || out.Bus == nil {
		return BusState{}, err
	}
	return *out.Bus, nil
}

// AddBusUser is Bus.AddUser.
func (r *Remote) AddBusUser(ctx context.Context, name string) (BusCredentials, error) {
	out, err := rpc.Call(ctx, r.client, apiBusAdd, agentIn{name})
	if err != nil || out.Credentials == nil {
		return BusCredentials{}, err
	}
	return *out.Credentials, nil
}

// RemoveBusUser is Bus.RemoveUser.
func (r *Remote) RemoveBusUser(ctx context.Context, name string) error {
	_, err := rpc.Call(ctx, r.client, apiBusRemove, agentIn{name})
	return err
}

// SetBridge is Peers.SetBridge.
func (r *Remote) SetBridge(ctx context.Context, session string, allowed bool) error {
	_, err := rpc.Call(ctx, r.client, apiBridge, bridgeIn{session, allowed})
	return err
}

// WithdrawBridge is Peers.WithdrawBridge.
func (r *Remote) WithdrawBridge(ctx context.Context, session string) error {
	_, err := rpc.Call(ctx, r.client, apiBridgeWithdraw, bridgeIn{Name: session})
	return err
}

// Questions returns what the agents of the session ask a person now.
func (r *Remote) Questions(ctx context.Context) ([]Question, error) {
	out, err := rpc.Call(ctx, r.client, apiQuestions, rpc.None{})
	return out.Questions, err
}

// Answer settles a question of the session. It returns when the answer is on
// disk there.
func (r *Remote) Answer(ctx context.Context, id string, a Answer) error {
	_, err := rpc.Call(ctx, r.client, apiAnswer, questionIn{id, &a})
	return err
}

// Compact makes an agent of the session summarise its conversation. See
// Session.Compact.
func (r *Remote) Compact(ctx context.Context, name string) error {
	_, err := rpc.Call(ctx, r.client, apiCompact, agentIn{name})
	return err
}

// Agent is Session.Agent.
func (r *Remote) Agent(ctx context.Context, name string) (actors.Status, error) {
	out, err := rpc.Call(ctx, r.client, apiAgent, agentIn{name})
	if err != nil {
		return actors.Status{}, err
	}
	return archive.StatusOf(out.Agents, "")
}

// Inbox is Session.Inbox.
func (r *Remote) Inbox(ctx context.Context, name string) ([]Trace, error) {
	out, err := rpc.Call(ctx, r.client, apiInbox, agentIn{name})
	return out.Traces, err
}

// Message is Session.Message.
func (r *Remote) Message(ctx context.Context, id mailbox.ID) (Trace, error) {
	out, err := rpc.Call(ctx, r.client, apiMessage, agentIn{string(id)})
	if err != nil || len(out.Traces) == 0 {
		return Trace{}, err
	}
	return out.Traces[0], nil
}

// SendClass is Send for a message of a class; "" is the usual one.
func (r *Remote) SendClass(ctx context.Context, to, text string, c mailbox.Class) ([]team.Posted, error) {
	out, err := rpc.Call(ctx, r.client, apiSend, sendIn{To: to, Text: text, Class: c})
	return member.DecodePosted(out.Posted), err
}

// Hello returns what a process that joins the session wants to know first.
func (r *Remote) Hello(ctx context.Context) (Welcome, error) {
	out, err := rpc.Call(ctx, r.client, apiHello, rpc.None{})
	if err != nil {
		return Welcome{}, err
	}
	if out.Welcome == nil {
		return Welcome{}, fmt.Errorf("session %s is run by another version of swarm, which cannot be joined; join it with that one, or end it and go on with this: swarm quit %s, swarm resume %s", r.info.ID, r.info.ID, r.info.ID)
	}
	out.Welcome.Info.Path = r.info.Path
	return *out.Welcome, nil
}

// Say gives the lead a text of the user. See Session.Say.
func (r *Remote) Say(ctx context.Context, text string) error {
	_, err := rpc.Call(ctx, r.client, apiSay, sayIn{text})
	return err
}

// Interrupt ends the turn of an agent, by name or id, "" for the lead, and
// reports whether there was one. See Session.InterruptAgent.
func (r *Remote) Interrupt(ctx context.Context, name string) (bool, error) {
	out, err := rpc.Call(ctx, r.client, apiInterrupt, agentIn{name})
	return out.Cut, err
}

// BackgroundForeground lets what the lead waits for go on in the background.
// See Session.BackgroundForeground.
func (r *Remote) BackgroundForeground(ctx context.Context) ([]string, error) {
	out, err := rpc.Call(ctx, r.client, apiForeground, rpc.None{})
	return out.Moved, err
}

// SetModel gives the lead another model. See Session.SetModel.
func (r *Remote) SetModel(ctx context.Context, name string) error {
	_, err := rpc.Call(ctx, r.client, apiModel, agentIn{name})
	return err
}

// Quit asks the owner of the session to end it, with its turns left open, and
// returns when it answers no more.
func (r *Remote) Quit(ctx context.Context) error {
	// It may be gone before its answer is.
	if _, err := rpc.Call(ctx, r.client, apiQuit, rpc.None{}); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		return err
	}
	select {
	case <-r.gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("session %s does not end: %w", r.info.ID, context.Cause(ctx))
	}
}

// Teams is Session.Teams.
func (r *Remote) Teams(ctx context.Context) ([]team.Team, error) {
	out, err := rpc.Call(ctx, r.client, apiTeams, rpc.None{})
	return out.Teams, err
}

// Team is Session.Team.
func (r *Remote) Team(ctx context.Context, name string) (team.Status, error) {
	return statusOf(rpc.Call(ctx, r.client, apiTeam, agentIn{name}))
}

// TeamUp is Session.TeamUp.
func (r *Remote) TeamUp(ctx context.Context, f TeamFile) (team.Status, error) {
	return statusOf(rpc.Call(ctx, r.client, apiTeamUp, teamUpIn{&f}))
}

// TeamAdd is Session.TeamAdd.
func (r *Remote) TeamAdd(ctx context.Context, name string, m TeamMember) (team.Status, error) {
	return statusOf(rpc.Call(ctx, r.client, apiTeamAdd, teamAddIn{name, &m}))
}

// TeamRemove is Session.TeamRemove.
func (r *Remote) TeamRemove(ctx context.Context, name, member string) error {
	_, err := rpc.Call(ctx, r.client, apiTeamRemove, teamRemoveIn{member, name})
	return err
}

// TeamDown is Session.TeamDown.
func (r *Remote) TeamDown(ctx context.Context, name string) error {
	_, err := rpc.Call(ctx, r.client, apiTeamDown, agentIn{name})
	return err
}

// statusOf takes the look at a team out of an answer.
func statusOf(out teamOut, err error) (team.Status, error) {
	if err != nil || out.Team == nil {
		return team.Status{}, err
	}
	return *out.Team, nil
}

// Close leaves the session alone and ends the connection.
func (r *Remote) Close() error {
	r.conn.Close()
	return nil
}

// Info returns what was known of the session when it was dialled.
func (r *Remote) Info() Info { return r.info }

var (
	// ErrEnded is the answer of a Remote whose session has ended.
	ErrEnded = errors.New("the session has ended")
	// ErrOwnerGone is ErrEnded when the session has not been closed: its process is
	// gone, and another one may go on with it.
	ErrOwnerGone = fmt.Errorf("the process that ran the session is gone: %w", ErrEnded)
)

// unread is how many facts may wait to be read by a process that follows a
// session; one that is further behind misses some.
const unread = 1 << 16

// Feed is what happens in a running session, as another process hears it.
type Feed struct {
	r    *Remote
	sub  *nats.Subscription
	msgs chan *nats.Msg
}

// Feed begins to listen: every fact from now on is heard.
func (r *Remote) Feed(ctx context.Context) (*Feed, error) {
	f := &Feed{r: r, msgs: make(chan *nats.Msg, unread)}
	var err error
	if f.sub, err = r.conn.ChanSubscribe(eventSubject(r.info.ID), f.msgs); err != nil {
		return nil, fmt.Errorf("listen to session %s: %w", r.info.ID, err)
	}
	if _, err := rpc.Call(ctx, r.client, apiTail, rpc.None{}); err != nil {
		return nil, errors.Join(err, f.sub.Unsubscribe())
	}
	return f, nil
}

// Events calls see with each fact of the session, as JSON, until ctx ends, see
// returns an error, or the session ends, which is ErrEnded.
func (r *Remote) Events(ctx context.Context, see func(raw []byte) error) error {
	f, err := r.Feed(ctx)
	if err != nil {
		return err
	}
	return f.Each(ctx, see)
}

// Each calls see with each fact, as JSON, until ctx ends, see returns an error,
// or the session ends, which is ErrEnded, or ErrOwnerGone when nobody closed it.
// It is called once.
func (f *Feed) Each(ctx context.Context, see func(raw []byte) error) error {
	err := f.listen(ctx, see)
	if errors.Is(err, ErrEnded) {
		return err
	}
	leave, stop := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer stop()
	_, gone := rpc.Call(leave, f.r.client, apiUntail, rpc.None{})
	return errors.Join(err, gone)
}

func (f *Feed) listen(ctx context.Context, see func(raw []byte) error) error {
	for {
		var err error
		select {
		case msg := <-f.msgs:
			err = f.hear(msg, see)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-f.r.gone:
			return f.rest(see)
		}
		if err != nil {
			return err
		}
	}
}

// rest hears what had come before the connection ended: among it may be that
// the session was closed.
func (f *Feed) rest(see func(raw []byte) error) error {
	for {
		select {
		case msg := <-f.msgs:
			if err := f.hear(msg, see); err != nil {
				return err
			}
		default:
			return ErrOwnerGone
		}
	}
}

func (f *Feed) hear(msg *nats.Msg, see func(raw []byte) error) error {
	if msg.Reply == "" {
		return see(msg.Data)
	}
	// The session waits for this before its server closes. That it is closed
	// already takes nothing from the fact.
	err := errors.Join(msg.Respond(nil), f.r.conn.FlushTimeout(endWithin))
	if errors.Is(err, nats.ErrConnectionClosed) {
		err = nil
	}
	return errors.Join(ErrEnded, err)
}
