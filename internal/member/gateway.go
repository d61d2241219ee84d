package member

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
)

// Limits for requests of programs with a key.
const (
	maxRequests    = 64       // concurrent requests of all programs
	maxOfOne       = 32       // concurrent requests of one program
	maxPerSecond   = 2000     // requests of one program in a second
	maxBytes       = 64 << 20 // of the requests of one program in a second
	maxRequestSize = 1 << 20  // bytes of one request
	maxMessages    = 50       // messages in one reply; fewer of long ones
	requestTimeout = 30 * time.Second
)

// Subject is the subject of requests of programs with a key. The caller is the name of
// the key.
func Subject(id string) rpc.Subject {
	return rpc.Subject(session.BusSubject(id, "{caller}", "{method}"))
}

// GatewayOptions configure OpenGateway. All of them are required.
type GatewayOptions struct {
	IsUser func(name string) (bool, error) // reports whether there is a key of a name
	Audit  func(event.Audit)               // records a refusal
}

// Gateway answers programs that have a key for the session's bus. The NATS server
// authenticates the caller in the subject, and messages are in the journal before the
// reply.
type Gateway struct {
	*rpc.Server
	service    *Service
	options    GatewayOptions
	conn       *nats.Conn
	goroutines sync.WaitGroup

	arrivedMu sync.Mutex
	arrived   []mailbox.Envelope // arrived and not yet published; guarded by newsMu
	signal    chan struct{}      // holds one signal
}

// busRequest has the fields of all requests of programs with a key. A request with
// another field is refused, so that no program relies on it.
type busRequest struct {
	From    string       `json:"from"` // optional; must be the caller's name
	Kind    mailbox.Kind `json:"kind"` // optional; must be text
	To      string       `json:"to"`
	Text    string       `json:"text"`
	Summary string       `json:"summary"`
	ReplyTo mailbox.ID   `json:"reply_to"`
	Key     string       `json:"key"` // requests with the same key are one message
	Last    mailbox.ID   `json:"last"`
	Max     int          `json:"max"`
	Task    board.ID     `json:"task"`
	ID      mailbox.ID   `json:"id"`
	Offset  int          `json:"offset"`

	RequestID string `json:"request_id"` // of a shutdown_request
	Approve   *bool  `json:"approve"`
	Reason    string `json:"reason"`

	Choice   *event.Choice `json:"choice"`
	Question string        `json:"question"` // id of one that was asked before
	WaitMS   int           `json:"wait_ms"`
}

// The replies.
type (
	postedOut struct {
		Posted []busPosted `json:"posted,omitempty"`
	}
	busPosted struct {
		To    string     `json:"to"`
		ID    mailbox.ID `json:"id,omitempty"`
		Error string     `json:"error,omitempty"`
	}
	mailOut struct {
		Messages []mailbox.Received `json:"messages,omitzero"`
		Left     int                `json:"left,omitempty"` // unread messages beyond these
	}
	partOut struct {
		Part *mailbox.TextPart `json:"part,omitempty"`
	}
	taskOut struct {
		Task *board.Task `json:"task,omitempty"`
	}
	tasksOut struct {
		Tasks []board.Task `json:"tasks,omitzero"`
	}
	agentsOut struct {
		Agents []Agent `json:"agents,omitzero"`
	}
	stateOut struct {
		State  mailbox.State `json:"state,omitempty"`
		Reason string        `json:"reason,omitempty"`
	}
	replyOut struct {
		Reply *event.Reply `json:"reply,omitempty"`
	}
)

// OpenGateway answers programs with a key until the context of the service has ended
// and Close is called.
func OpenGateway(s *Service, conn *nats.Conn, o GatewayOptions) (*Gateway, error) {
	g := &Gateway{service: s, options: o, conn: conn, signal: make(chan struct{}, 1)}
	g.Server = rpc.NewServer(s.ctx, rpc.ServerOptions{Log: s.options.Log, MaxConcurrent: maxRequests, PerCaller: rpc.Quota{Concurrent: maxOfOne, Requests: maxPerSecond, Bytes: maxBytes}, OneMessage: true, Accept: g.accepts, Check: g.check})
	g.handleMail()
	g.handleTasks()
	if err := g.Open(conn, Subject(s.options.Session)); err != nil {
		return nil, fmt.Errorf("open the session to programs outside: %w", err)
	}
	g.goroutines.Go(g.publish)
	s.gateway.Store(g)
	return g, nil
}

// Close waits for requests and publishing to end.
func (g *Gateway) Close() error {
	err := g.Server.Close()
	g.goroutines.Wait()
	return err
}

// newestIncarnation is the incarnation of a program with a key: the holder of the key
// is the member.
const newestIncarnation = 0

// handle registers a request under a name and aliases, in the name of the member that
// makes it.
func handle[Out any](g *Gateway, name string, do func(context.Context, *Member, busRequest) (Out, error), aliases ...string) {
	for _, name := range append(aliases, name) {
		m := rpc.Method[busRequest, Out]{Name: name, Within: requestTimeout, Class: rpc.Participate}
		rpc.Handle(g.Server, m, func(ctx context.Context, c rpc.Caller, in busRequest) (Out, error) {
			m, err := g.service.Rejoin(c.Name, newestIncarnation)
			if err != nil {
				var none Out
				return none, err
			}
			return do(ctx, m, in)
		})
	}
}

func (g *Gateway) handleMail() {
	handle(g, "post", g.send, "send")
	handle(g, "inbox", g.read, "read")
	handle(g, "text", func(_ context.Context, m *Member, in busRequest) (partOut, error) {
		part, err := m.Text(in.ID, in.Offset)
		if err != nil {
			return partOut{}, err
		}
		return partOut{&part}, nil
	})
	handle(g, "respond", respond)
	handle(g, "state", func(_ context.Context, m *Member, in busRequest) (out stateOut, err error) {
		out.State, out.Reason, err = m.State(in.ID)
		return out, err
	})
	handle(g, "agents", func(_ context.Context, m *Member, _ busRequest) (agentsOut, error) {
		all, err := m.Agents()
		return agentsOut{all}, err
	})
	handle(g, "ask", func(ctx context.Context, m *Member, in busRequest) (replyOut, error) {
		wait, cancel := context.WithTimeout(ctx, min(max(time.Duration(in.WaitMS)*time.Millisecond, 0), maxWait))
		defer cancel()
		said, err := m.askOrAnswer(wait, in.Choice, in.Question)
		if err != nil {
			return replyOut{}, err
		}
		return replyOut{&said}, nil
	})
}

func (g *Gateway) handleTasks() {
	handle(g, "tasks", func(ctx context.Context, m *Member, _ busRequest) (tasksOut, error) {
		all, err := m.Tasks(ctx)
		return tasksOut{all}, err
	})
	handle(g, "claim", func(ctx context.Context, m *Member, in busRequest) (taskOut, error) {
		t, err := m.Claim(ctx, in.Task)
		return taskOut{t}, err
	})
	handle(g, "complete", func(ctx context.Context, m *Member, in busRequest) (taskOut, error) {
		t, err := m.Complete(ctx, in.Task)
		return taskOut{t}, err
	})
	handle(g, "drop", func(ctx context.Context, m *Member, in busRequest) (taskOut, error) {
		t, err := m.Drop(ctx, in.Task)
		return taskOut{t}, err
	})
}

// accepts rejects a request whose reply subject is not the caller's: the reply would be
// published with the session's permissions where the caller has none.
func (g *Gateway) accepts(c rpc.Caller) bool {
	if c.Reply == "" || strings.HasPrefix(c.Reply, session.BusInbox(c.Name)+".") {
		return true
	}
	g.refuse(c, fmt.Sprintf("asked for the answer to go to %q, which is not below %s", c.Reply, session.BusInbox(c.Name)))
	return false
}

// check rejects callers that are not users, and requests that are not allowed.
func (g *Gateway) check(c rpc.Caller, data []byte) error {
	t, err := g.user(c.Name)
	if err == nil {
		err = checkRequest(c.Name, data)
	}
	if errors.As(err, new(*turn.ForbiddenError)) {
		g.refuse(c, err.Error())
	}
	if err == nil {
		g.service.options.Boards.Renew(t.ID())
	}
	return err
}

func (g *Gateway) refuse(c rpc.Caller, why string) {
	g.options.Audit(event.Audit{By: c.Name, Subject: c.Subject, Reason: why})
}

// user returns the member that makes a request. The server has checked the key; on an
// external server the name may still not be a user's.
func (g *Gateway) user(name string) (*transcript.Transcript, error) {
	is, err := g.options.IsUser(name)
	if err != nil {
		return nil, err
	}
	t, ok := g.service.options.Store.Get(mailbox.AgentID(name))
	if !is || !ok || t.Spec().Role != agent.Program || t.Record().Closed {
		return nil, &turn.ForbiddenError{Reason: fmt.Sprintf("%q is not a user of the bus of session %s", name, g.service.options.Session)}
	}
	return t, nil
}

func checkRequest(name string, data []byte) error {
	var in busRequest
	if len(data) > maxRequestSize {
		return fmt.Errorf("the request has %d bytes and may have %d", len(data), maxRequestSize)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return fmt.Errorf("the request is not valid: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the request is not valid: something follows the JSON object")
	}
	switch {
	case in.From != "" && in.From != name:
		return &turn.ForbiddenError{Reason: fmt.Sprintf("%s cannot send as %q", name, in.From)}
	case in.Kind != "" && in.Kind != mailbox.KindText:
		return &turn.ForbiddenError{Reason: fmt.Sprintf("a program outside sends texts and no %.40q", in.Kind)}
	}
	return turn.CheckForeign(in.Text, in.Summary)
}

func (g *Gateway) send(_ context.Context, m *Member, in busRequest) (postedOut, error) {
	if strings.TrimSpace(in.Text) == "" || in.To == "" {
		return postedOut{}, errors.New(`say to whom and what: {"to":"lead","text":"…"}`)
	}
	posted, err := m.member.Send(team.Message{To: in.To, Text: in.Text, Summary: in.Summary, ReplyTo: in.ReplyTo, Key: in.Key})
	var r postedOut
	for _, p := range posted {
		one := busPosted{To: p.Name, ID: p.ID}
		if p.Err != nil {
			one.Error = p.Err.Error()
		}
		r.Posted = append(r.Posted, one)
	}
	return r, err
}

// respond answers a shutdown request to the member.
func respond(_ context.Context, m *Member, in busRequest) (rpc.None, error) {
	if in.RequestID == "" || in.Approve == nil {
		return rpc.None{}, errors.New(`say which request it is the answer to, and yes or no: {"request_id":"…","approve":false,"reason":"…"}`)
	}
	return rpc.None{}, m.AnswerShutdown(in.RequestID, *in.Approve, in.Reason)
}

// read marks messages up to in.Last as read and returns those after it. A program that
// does not report what it has read gets the same messages again.
func (g *Gateway) read(_ context.Context, m *Member, in busRequest) (mailOut, error) {
	if in.Last != "" {
		if err := m.readUpTo(in.Last); err != nil {
			return mailOut{}, err
		}
	}
	unread := m.record().Unread()
	limit := maxMessages
	if in.Max > 0 {
		limit = min(limit, in.Max)
	}
	n := countFitting(unread[:min(limit, len(unread))])
	if n > 0 {
		if err := g.service.options.Store.Sync(); err != nil { // messages are delivered before they are shown
			return mailOut{}, err
		}
	}
	r := mailOut{Messages: make([]mailbox.Received, n), Left: len(unread) - n}
	for i, e := range unread[:n] {
		r.Messages[i] = g.service.received(e)
	}
	return r, nil
}

// readUpTo marks messages as read. It ignores an id that is not unread.
func (m *Member) readUpTo(last mailbox.ID) error {
	unread := m.record().Unread()
	at := slices.IndexFunc(unread, func(e mailbox.Envelope) bool { return e.ID == last })
	if at < 0 {
		return nil
	}
	ids := make([]mailbox.ID, at+1)
	for i, e := range unread[:at+1] {
		ids[i] = e.ID
	}
	return m.service.options.Agents.Read(m.ID(), ids...)
}

// Arrived queues a message to a program with a key to be published once it is on disk.
func (g *Gateway) Arrived(e mailbox.Envelope) {
	g.arrivedMu.Lock()
	g.arrived = append(g.arrived, e)
	g.arrivedMu.Unlock()
	select {
	case g.signal <- struct{}{}:
	default:
	}
}

// publish publishes mail to programs with a key when it arrives. That is a hint only:
// programs that were not connected read it later.
func (g *Gateway) publish() {
	for {
		select {
		case <-g.signal:
		case <-g.service.ctx.Done():
			return
		}
		g.arrivedMu.Lock()
		news := g.arrived
		g.arrived = nil
		g.arrivedMu.Unlock()
		if err := g.service.options.Store.Sync(); err != nil {
			return // the journal has failed, which ends the session
		}
		for _, e := range news {
			raw, err := json.Marshal(g.service.received(e))
			if err == nil {
				err = g.conn.Publish(session.BusMail(g.service.options.Session, string(e.To.Agent)), raw)
			}
			if err != nil {
				g.service.options.Log.Warn("mail to a program outside could not be published", "name", e.To.Agent, "error", err)
			}
		}
	}
}
