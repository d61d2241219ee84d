package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
	"github.com/actorswarm/swarm/tool"
)

// request is a request of a program through the socket. All requests have this form.
type request struct {
	Outside *requestFields `json:"outside,omitempty"`
}

type requestFields struct {
	Name        string `json:"name"`
	Incarnation uint32 `json:"incarnation,omitempty"`

	Message  *mailbox.Message `json:"letter,omitempty"`
	Wait     time.Duration    `json:"wait,omitempty"` // nanoseconds; at most longestWait counts
	Max      int              `json:"max,omitempty"`
	Read     []mailbox.ID     `json:"read,omitempty"` // messages that the member has
	Tool     string           `json:"tool,omitempty"`
	Input    json.RawMessage  `json:"input,omitempty"`
	Choice   *event.Choice    `json:"choice,omitempty"`
	Question string           `json:"question,omitempty"` // id of one that was asked before
	ID       mailbox.ID       `json:"message,omitempty"`
	Offset   int              `json:"offset,omitempty"` // in its text
	Task     board.ID         `json:"task,omitempty"`

	Response *message.ShutdownResponse `json:"response,omitempty"`
	Proof    string                    `json:"proof,omitempty"` // that the requester has the key of the name
}

// reply is the reply to a request.
type reply struct {
	Outside *replyFields `json:"outside,omitempty"`
}

type replyFields struct {
	Incarnation uint32             `json:"incarnation,omitempty"`
	Posted      []SendResult       `json:"posted,omitempty"`
	Mail        []mailbox.Received `json:"mail,omitempty"`
	Result      *tool.Result       `json:"result,omitempty"`
	Reply       *event.Reply       `json:"reply,omitempty"`
	Part        *mailbox.TextPart  `json:"part,omitempty"`
	Superseded  bool               `json:"superseded,omitempty"`
	Task        *board.Task        `json:"task,omitempty"`
	Agents      []Agent            `json:"agents,omitempty"`
	State       mailbox.State      `json:"state,omitempty"`
	Reason      string             `json:"reason,omitempty"`
}

// SendResult is a team.SendResult on the wire.
type SendResult struct {
	Name  string     `json:"name"`
	ID    mailbox.ID `json:"id"`
	Error string     `json:"error,omitempty"`
}

// EncodeResults encodes the results of a send.
func EncodeResults(all []team.SendResult) []SendResult {
	var out []SendResult
	for _, p := range all {
		w := SendResult{Name: p.Name, ID: p.ID}
		if p.Err != nil {
			w.Error = p.Err.Error()
		}
		out = append(out, w)
	}
	return out
}

// DecodeResults decodes the results of a send.
func DecodeResults(all []SendResult) []team.SendResult {
	var out []team.SendResult
	for _, w := range all {
		p := team.SendResult{Name: w.Name, ID: w.ID}
		if w.Error != "" {
			p.Err = errors.New(w.Error)
		}
		out = append(out, p)
	}
	return out
}

// method is a request of a process that is known to be the user's.
func method(name string) rpc.Method[request, reply] {
	return rpc.Method[request, reply]{Name: name, Class: rpc.Control}
}

// provenMethod is the same request of a process that has the key of the name, which is all
// that is known of it.
func provenMethod(name string) rpc.Method[request, reply] {
	return rpc.Method[request, reply]{Name: provenPrefix + name, Class: rpc.Participate}
}

const provenPrefix = "key-"

// maxWait bounds how long a request waits, so that a request without a client ends
// soon.
const maxWait = 20 * time.Second

var errNoMember = errors.New("the request does not say which member it is of")

type requestFunc = func(ctx, wait context.Context, m *Member, in *requestFields, out *replyFields) error

// requests are the requests through the socket, by name. ctx ends with the server's time
// limit, wait with the time that the request is to wait.
var requests = map[string]requestFunc{
	"join":  func(_, _ context.Context, _ *Member, _ *requestFields, _ *replyFields) error { return nil },
	"read":  func(_, _ context.Context, _ *Member, _ *requestFields, _ *replyFields) error { return nil }, // what was read is recorded for each
	"leave": func(ctx, _ context.Context, m *Member, _ *requestFields, _ *replyFields) error { return m.Leave(ctx) },
	"post": func(_, _ context.Context, m *Member, in *requestFields, out *replyFields) error {
		if in.Message == nil {
			return errors.New("the request holds no letter")
		}
		posted, err := m.Send(*in.Message)
		out.Posted = EncodeResults(posted)
		return err
	},
	"respond": func(_, _ context.Context, m *Member, in *requestFields, _ *replyFields) error {
		if in.Response == nil {
			return errors.New("the request holds no response")
		}
		return m.AnswerShutdown(in.Response.RequestID, in.Response.Approve, in.Response.Reason)
	},
	"inbox": func(_, wait context.Context, m *Member, in *requestFields, out *replyFields) (err error) {
		out.Mail, err = m.Inbox(wait, in.Max)
		return err
	},
	"text": func(_, _ context.Context, m *Member, in *requestFields, out *replyFields) error {
		part, err := m.Text(in.ID, in.Offset)
		if err == nil {
			out.Part = &part
		}
		return err
	},
	"task": func(ctx, _ context.Context, m *Member, in *requestFields, out *replyFields) error {
		result, err := m.Task(ctx, in.Tool, in.Input)
		out.Result = &result
		return err
	},
	"ask": func(_, wait context.Context, m *Member, in *requestFields, out *replyFields) error {
		said, err := m.askOrAnswer(wait, in.Choice, in.Question)
		out.Reply = &said
		return err
	},
	"state": func(_, _ context.Context, m *Member, in *requestFields, out *replyFields) (err error) {
		out.State, out.Reason, err = m.State(in.ID)
		return err
	},
	"agents": func(_, _ context.Context, m *Member, _ *requestFields, out *replyFields) (err error) {
		out.Agents, err = m.Agents()
		return err
	},
	"claim": func(ctx, _ context.Context, m *Member, in *requestFields, out *replyFields) (err error) {
		out.Task, err = m.Claim(ctx, in.Task)
		return err
	},
	"complete": func(ctx, _ context.Context, m *Member, in *requestFields, out *replyFields) (err error) {
		out.Task, err = m.Complete(ctx, in.Task)
		return err
	},
	"drop": func(ctx, _ context.Context, m *Member, in *requestFields, out *replyFields) (err error) {
		out.Task, err = m.Drop(ctx, in.Task)
		return err
	},
}

// askOrAnswer asks a question, or continues to wait for the answer to one.
func (m *Member) askOrAnswer(wait context.Context, choice *event.Choice, question string) (event.Reply, error) {
	if choice == nil {
		return m.Answer(wait, question)
	}
	return m.Ask(wait, *choice)
}

// Serve registers the requests of programs of the user. It must be called before the
// server is opened.
func (s *Service) Serve(server *rpc.Server) {
	for name, do := range requests {
		s.serve(server, method(name), name, s.checkName, do)
		s.serve(server, provenMethod(name), name, s.checkKey, do)
	}
}

// serve registers a request whose requester must pass check.
func (s *Service) serve(server *rpc.Server, of rpc.Method[request, reply], name string, check func(*requestFields) error, do requestFunc) {
	rpc.Handle(server, of, func(ctx context.Context, _ rpc.Caller, in request) (reply, error) {
		m, err := s.requester(name, in.Outside, check)
		switch {
		case m == nil:
			return reply{}, err
		case err != nil:
			return reply{&replyFields{Superseded: errors.As(err, new(*team.SupersededError))}}, err
		}
		// A request waits for less than the server's time limit, which must leave time to reply.
		wait, cancel := context.WithTimeout(ctx, min(max(in.Outside.Wait, 0), maxWait))
		defer cancel()
		out := &replyFields{Incarnation: m.Incarnation()}
		if err := m.Read(in.Outside.Read...); err != nil {
			return reply{out}, err
		}
		return reply{out}, do(ctx, wait, m, in.Outside, out)
	})
}

// requester returns the member that makes a request, in the incarnation in which it has
// joined. A request without a name has no member.
func (s *Service) requester(method string, in *requestFields, check func(*requestFields) error) (*Member, error) {
	if in == nil || in.Name == "" {
		return nil, errNoMember
	}
	if err := check(in); err != nil {
		return nil, err
	}
	switch {
	case in.Incarnation != 0:
		return s.Rejoin(in.Name, in.Incarnation)
	case method == "join":
		m, err := s.Join(in.Name)
		if err != nil {
			m = new(Member)
		}
		return m, err
	}
	return new(Member), fmt.Errorf("%s has not joined", in.Name)
}

// Errors returns the errors of members that keep their identity on both sides of the
// socket.
func Errors() rpc.Errors {
	return rpc.Errors{rpc.Type[*team.SupersededError]("superseded"), rpc.Type[*session.KeyError]("key")}
}

// Client is a member of a session that another process runs. It has the methods of
// Member, which may be called from any goroutine.
type Client struct {
	rpc         *rpc.Client
	name        string
	incarnation uint32
	proof       string // that it has the key of the name; "" is none
}

// Join makes the calling program a member of the session that c is connected to. With
// an incarnation it continues in that one, unless another program has joined since. The
// proof, of Prove, is needed for a name that has a key, and by a process that is not known
// to be the user's.
func Join(ctx context.Context, c *rpc.Client, name string, incarnation uint32, proof string) (*Client, error) {
	m := &Client{rpc: c, name: name, incarnation: incarnation, proof: proof}
	out, err := m.call(ctx, "join", requestFields{})
	if err != nil {
		return nil, err
	}
	m.incarnation = out.Incarnation
	return m, nil
}

// Incarnation returns the argument with which Join continues as this member.
func (m *Client) Incarnation() uint32 { return m.incarnation }

func (m *Client) call(ctx context.Context, name string, in requestFields) (replyFields, error) {
	in.Name, in.Incarnation, in.Proof = m.name, m.incarnation, m.proof
	of := method(name)
	if m.proof != "" {
		of = provenMethod(name)
	}
	out, err := rpc.Call(ctx, m.rpc, of, request{&in})
	if out.Outside == nil {
		out.Outside = &replyFields{}
	}
	if out.Outside.Superseded {
		err = &team.SupersededError{Name: m.name}
	}
	return *out.Outside, err
}

// Send is Member.Send.
func (m *Client) Send(ctx context.Context, l mailbox.Message) ([]team.SendResult, error) {
	out, err := m.call(ctx, "post", requestFields{Message: &l})
	return DecodeResults(out.Posted), err
}

// Inbox is Member.Inbox after Member.Read of some messages. It waits for at most the
// given time.
func (m *Client) Inbox(ctx context.Context, most int, wait time.Duration, read ...mailbox.ID) ([]mailbox.Received, error) {
	for {
		step := min(wait, maxWait)
		out, err := m.call(ctx, "inbox", requestFields{Max: most, Wait: step, Read: read})
		if wait -= step; err != nil || len(out.Mail) > 0 || wait <= 0 {
			return out.Mail, err
		}
		read = nil
	}
}

// Text is Member.Text.
func (m *Client) Text(ctx context.Context, id mailbox.ID, offset int) (mailbox.TextPart, error) {
	out, err := m.call(ctx, "text", requestFields{ID: id, Offset: offset})
	if out.Part == nil {
		return mailbox.TextPart{}, err
	}
	return *out.Part, err
}

// AnswerShutdown is Member.AnswerShutdown.
func (m *Client) AnswerShutdown(ctx context.Context, request string, approve bool, reason string) error {
	_, err := m.call(ctx, "respond", requestFields{Response: &message.ShutdownResponse{RequestID: request, Approve: approve, Reason: reason}})
	return err
}

// Read is Member.Read.
func (m *Client) Read(ctx context.Context, ids ...mailbox.ID) error {
	_, err := m.call(ctx, "read", requestFields{Read: ids})
	return err
}

// State is Member.State.
func (m *Client) State(ctx context.Context, id mailbox.ID) (mailbox.State, string, error) {
	out, err := m.call(ctx, "state", requestFields{ID: id})
	return out.State, out.Reason, err
}

// Agents is Member.Agents.
func (m *Client) Agents(ctx context.Context) ([]Agent, error) {
	out, err := m.call(ctx, "agents", requestFields{})
	return out.Agents, err
}

// Claim is Member.Claim.
func (m *Client) Claim(ctx context.Context, id board.ID) (*board.Task, error) {
	out, err := m.call(ctx, "claim", requestFields{Task: id})
	return out.Task, err
}

// Complete is Member.Complete.
func (m *Client) Complete(ctx context.Context, id board.ID) (*board.Task, error) {
	out, err := m.call(ctx, "complete", requestFields{Task: id})
	return out.Task, err
}

// Drop is Member.Drop.
func (m *Client) Drop(ctx context.Context, id board.ID) (*board.Task, error) {
	out, err := m.call(ctx, "drop", requestFields{Task: id})
	return out.Task, err
}

// Task is Member.Task.
func (m *Client) Task(ctx context.Context, name string, input json.RawMessage) (tool.Result, error) {
	out, err := m.call(ctx, "task", requestFields{Tool: name, Input: input})
	if out.Result == nil {
		return tool.Result{}, err
	}
	return *out.Result, err
}

// Ask is Member.Ask, which waits for at most the given time.
func (m *Client) Ask(ctx context.Context, q event.Choice, wait time.Duration) (event.Reply, error) {
	step := min(wait, maxWait)
	out, err := m.call(ctx, "ask", requestFields{Choice: &q, Wait: step})
	if err != nil || out.Reply == nil {
		return event.Reply{}, err
	}
	if wait -= step; out.Reply.State != "" || wait <= 0 {
		return *out.Reply, nil
	}
	return m.Answer(ctx, out.Reply.ID, wait)
}

// Answer is Member.Answer, which waits for at most the given time.
func (m *Client) Answer(ctx context.Context, id string, wait time.Duration) (event.Reply, error) {
	for {
		step := min(wait, maxWait)
		out, err := m.call(ctx, "ask", requestFields{Question: id, Wait: step})
		if err != nil || out.Reply == nil {
			return event.Reply{}, err
		}
		if wait -= step; out.Reply.State != "" || wait <= 0 {
			return *out.Reply, nil
		}
	}
}

// Leave is Member.Leave.
func (m *Client) Leave(ctx context.Context) error {
	_, err := m.call(ctx, "leave", requestFields{})
	return err
}
