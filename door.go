package swarm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
	"github.com/nats-io/nats.go"
)

// door answers other processes on the session's bus. Requests go to
// sw.<session>.api.<verb>, events come on sw.<session>.ev.
type door struct {
	counter
	s *Session

	telling sync.Once    // events are published once somebody asked for them
	readers atomic.Int32 // who asked for them and has not left
}

// request is what a verb takes; reply is what it answers.
type request struct {
	To   string `json:"to,omitempty"`
	Text string `json:"text,omitempty"`
	Name string `json:"name,omitempty"`

	Class mailbox.Class `json:"class,omitempty"`

	Answer *Answer `json:"answer,omitempty"`
	Allow  bool    `json:"allow,omitempty"`

	Team   *TeamFile   `json:"team,omitempty"`
	Member *TeamMember `json:"member,omitempty"`

	Outside *outsideRequest `json:"outside,omitempty"`
	Letter  *sessionLetter  `json:"letter,omitempty"` // of another session

	Names []string      `json:"names,omitempty"`
	Grace time.Duration `json:"grace,omitempty"`
}

type reply struct {
	Error  string          `json:"error,omitempty"`
	Posted []post          `json:"posted,omitempty"`
	Agents []actors.Status `json:"agents,omitempty"`
	Info   *Info           `json:"info,omitempty"`
	Tasks  []board.Task    `json:"tasks,omitempty"`

	Questions []Question `json:"questions,omitempty"`
	Traces    []Trace    `json:"traces,omitempty"`

	Moved   []string `json:"moved,omitempty"`
	Cut     bool     `json:"cut,omitempty"`
	Welcome *Welcome `json:"welcome,omitempty"`

	Team  *team.Status `json:"team,omitempty"`
	Teams []team.Team  `json:"teams,omitempty"`

	Outside *outsideReply `json:"outside,omitempty"`
	Letter  *letterReply  `json:"letter,omitempty"`

	Ended []Ended     `json:"ended,omitempty"`
	Gone  []Departure `json:"gone,omitempty"`

	Bus         *BusState       `json:"bus,omitempty"`
	Credentials *BusCredentials `json:"credentials,omitempty"`
}

func apiSubject(session, verb string) string { return "sw." + session + ".api." + verb }
func eventSubject(session string) string     { return "sw." + session + ".ev" }

func openDoor(s *Session, conn *nats.Conn) (*door, error) {
	d := &door{s: s, counter: counter{log: s.opts.Logger}}
	if err := d.open(conn, apiSubject(s.Info().ID, "*"), d.handle); err != nil {
		return nil, fmt.Errorf("open the session's door: %w", err)
	}
	// Whoever finds the socket finds the door open.
	if err := conn.FlushTimeout(closeWithin); err != nil {
		return nil, fmt.Errorf("open the session's door: %w", err)
	}
	return d, nil
}

func (d *door) handle(m *nats.Msg) { d.serve(m, nil, func() any { return d.answer(m) }) }

func (d *door) answer(m *nats.Msg) reply {
	var in request
	if len(m.Data) > 0 {
		if err := json.Unmarshal(m.Data, &in); err != nil {
			return reply{Error: fmt.Sprintf("the request is not valid: %v", err)}
		}
	}
	out, err := d.do(m.Subject[len(apiSubject(d.s.Info().ID, "")):], in)
	if err != nil {
		out.Error = err.Error()
	}
	return out
}

func (d *door) interrupt(name string) (bool, error) {
	if name == "" {
		return d.s.Interrupt(), nil
	}
	return d.s.InterruptAgent(name)
}

// tell publishes every fact until the session ends, and then that it has ended.
func (d *door) tell(sub *event.Subscription) {
	defer sub.Close()
	for {
		e, err := sub.Next(d.s.scope)
		if err != nil {
			break
		}
		d.publish(e)
	}
	// The end of the scope may overtake what was published before it.
	for {
		e, err := sub.Next(d.s.scope)
		if err != nil {
			break
		}
		d.publish(e)
	}
	if err := d.sayEnd(); err != nil {
		d.s.opts.Logger.Warn("not everybody who follows the session heard its end", "error", err)
	}
}

func (d *door) publish(e event.Event) {
	raw, err := json.Marshal(e)
	if err == nil {
		err = d.conn.Publish(eventSubject(d.s.Info().ID), raw)
	}
	if err != nil {
		d.s.opts.Logger.Warn("an event could not be told", "type", event.Type(e.Fact), "error", err)
	}
}

// endWithin is how long the end of a session waits for those who follow it.
const endWithin = 250 * time.Millisecond

// sayEnd tells those who follow the session that nothing more comes, and waits
// until they have read all of it: the server closes after that.
func (d *door) sayEnd() error {
	inbox := d.conn.NewRespInbox()
	acks, err := d.conn.SubscribeSync(inbox)
	if err != nil {
		return err
	}
	if err := d.conn.PublishRequest(eventSubject(d.s.Info().ID), inbox, nil); err != nil {
		return err
	}
	limit := time.Now().Add(endWithin)
	for range d.readers.Load() {
		if _, err := acks.NextMsg(time.Until(limit)); err != nil {
			return err
		}
	}
	return nil
}

// Remote is a running session of this machine, seen from another process.
type Remote struct {
	info Info
	conn *nats.Conn
	gone chan struct{} // closed when the connection has ended

	mu    sync.Mutex
	waits map[*waiting]struct{} // guarded by mu
}

// waiting is a request that has no answer yet.
type waiting struct {
	subject string
	end     context.CancelCauseFunc
}

// CommandError reports a request that a session takes from its user and not from
// commands of agents.
type CommandError struct{ Verb string }

func (e *CommandError) Error() string {
	return fmt.Sprintf("this was started by an agent, and %q is for the user: ask the user to do it", e.Verb)
}

// NotRunningError reports that no process runs a session.
type NotRunningError struct{ ID string }

func (e *NotRunningError) Error() string {
	return fmt.Sprintf("session %s is not running; go on with it by: swarm resume %s", e.ID, e.ID)
}

// Dial reaches the process that runs a session.
func Dial(stateDir string, info Info) (*Remote, error) {
	r := &Remote{info: info, gone: make(chan struct{}), waits: map[*waiting]struct{}{}}
	var err error
	// Who runs the session next is another process, with which nothing has been
	// agreed: the connection does not come back by itself.
	r.conn, err = natsd.DialUnix(info.Socket(stateDir), nats.NoReconnect(),
		nats.ErrorHandler(r.hear), nats.ClosedHandler(func(*nats.Conn) { close(r.gone) }))
	if err != nil {
		return nil, errors.Join(&NotRunningError{ID: info.ID}, err)
	}
	return r, nil
}

var errNotForCommands = errors.New("the server refuses it")

// hear ends what waits for an answer to a request that the server refuses.
func (r *Remote) hear(_ *nats.Conn, _ *nats.Subscription, err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for w := range r.waits {
		if strings.Contains(err.Error(), strconv.Quote(w.subject)) {
			w.end(errNotForCommands)
		}
	}
}

// await returns a context that ends when the server refuses a subject.
func (r *Remote) await(ctx context.Context, subject string) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	w := &waiting{subject, end}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waits[w] = struct{}{}
	return ctx, func() {
		end(nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.waits, w)
	}
}

func (r *Remote) ask(ctx context.Context, verb string, in request) (reply, error) {
	raw, err := json.Marshal(in)
	if err != nil {
		return reply{}, err
	}
	ctx, done := r.await(ctx, apiSubject(r.info.ID, verb))
	defer done()
	answer, err := askInParts(ctx, r.conn, apiSubject(r.info.ID, verb), raw)
	if err != nil && errors.Is(context.Cause(ctx), errNotForCommands) {
		return reply{}, &CommandError{Verb: verb}
	}
	if err != nil {
		return reply{}, fmt.Errorf("ask session %s to %s: %w", r.info.ID, verb, err)
	}
	var out reply
	if err := json.Unmarshal(answer, &out); err != nil {
		return reply{}, fmt.Errorf("read the answer of session %s: %w", r.info.ID, err)
	}
	if out.Error != "" {
		return out, errors.New(out.Error)
	}
	return out, nil
}

// Send writes a message from the user to an agent of the session. It returns
// when the session has the message on disk.
func (r *Remote) Send(ctx context.Context, to, text string) ([]team.Posted, error) {
	out, err := r.ask(ctx, "send", request{To: to, Text: text})
	return unpost(out.Posted), err
}

// Agents returns a look at every agent of the session.
func (r *Remote) Agents(ctx context.Context) ([]actors.Status, error) {
	out, err := r.ask(ctx, "ps", request{})
	return out.Agents, err
}

// Tasks returns the tasks of the session's list.
func (r *Remote) Tasks(ctx context.Context) ([]board.Task, error) {
	out, err := r.ask(ctx, "tasks", request{})
	return out.Tasks, err
}

// Stop ends an agent of the session.
func (r *Remote) Stop(ctx context.Context, name string) error {
	_, err := r.ask(ctx, "stop", request{Name: name})
	return err
}

// Kill ends an agent of the session for good.
func (r *Remote) Kill(ctx context.Context, name string) error {
	_, err := r.ask(ctx, "kill", request{Name: name})
	return err
}

// treeWithin is how long the end of a tree may take.
const treeWithin = 10 * time.Second

// StopTree ends an agent of the session and all that work for it. See
// Session.StopTree.
func (r *Remote) StopTree(ctx context.Context, name string) ([]Ended, error) {
	out, err := r.ask(ctx, "stoptree", request{Name: name})
	return out.Ended, err
}

// KillTree ends an agent of the session and all that work for it, for good.
func (r *Remote) KillTree(ctx context.Context, name string) ([]Ended, error) {
	out, err := r.ask(ctx, "killtree", request{Name: name})
	return out.Ended, err
}

// Down shuts agents of the session down, without names all but the lead. See
// Session.Down.
func (r *Remote) Down(ctx context.Context, names []string, grace time.Duration) ([]Departure, error) {
	out, err := r.ask(ctx, "down", request{Names: names, Grace: grace})
	return out.Gone, err
}

// Background lets a foreground agent of the session go on in the background.
func (r *Remote) Background(ctx context.Context, name string) error {
	_, err := r.ask(ctx, "bg", request{Name: name})
	return err
}

// Bus returns where the session's bus listens and who may use it.
func (r *Remote) Bus(ctx context.Context) (BusState, error) {
	out, err := r.ask(ctx, "bus", request{})
	if err != nil || out.Bus == nil {
		return BusState{}, err
	}
	return *out.Bus, nil
}

// AddBusUser is Session.AddBusUser.
func (r *Remote) AddBusUser(ctx context.Context, name string) (BusCredentials, error) {
	out, err := r.ask(ctx, "bus-add", request{Name: name})
	if err != nil || out.Credentials == nil {
		return BusCredentials{}, err
	}
	return *out.Credentials, nil
}

// RemoveBusUser is Session.RemoveBusUser.
func (r *Remote) RemoveBusUser(ctx context.Context, name string) error {
	_, err := r.ask(ctx, "bus-remove", request{Name: name})
	return err
}

// SetBridge is Session.SetBridge.
func (r *Remote) SetBridge(ctx context.Context, session string, allowed bool) error {
	_, err := r.ask(ctx, "bridge", request{Name: session, Allow: allowed})
	return err
}

// WithdrawBridge is Session.WithdrawBridge.
func (r *Remote) WithdrawBridge(ctx context.Context, session string) error {
	_, err := r.ask(ctx, "bridge-withdraw", request{Name: session})
	return err
}

// Questions returns what the agents of the session ask a person now.
func (r *Remote) Questions(ctx context.Context) ([]Question, error) {
	out, err := r.ask(ctx, "questions", request{})
	return out.Questions, err
}

// Answer settles a question of the session. It returns when the answer is on
// disk there.
func (r *Remote) Answer(ctx context.Context, id string, a Answer) error {
	_, err := r.ask(ctx, "answer", request{Name: id, Answer: &a})
	return err
}

// compactWithin is how long another process waits for a compaction: an agent
// may be in a long call first.
const compactWithin = 15 * time.Minute

// Compact makes an agent of the session summarise its conversation. See
// Session.Compact.
func (r *Remote) Compact(ctx context.Context, name string) error {
	_, err := r.ask(ctx, "compact", request{Name: name})
	return err
}

// Close leaves the session alone and ends the connection.
func (r *Remote) Close() { r.conn.Close() }
