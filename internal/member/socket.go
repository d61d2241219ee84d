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
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
	"github.com/actorswarm/swarm/tool"
)

// request is what a program asks through the socket. All requests have one form.
type request struct {
	Outside *fields `json:"outside,omitempty"`
}

type fields struct {
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
}

// reply is what it is answered.
type reply struct {
	Outside *results `json:"outside,omitempty"`
}

type results struct {
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

// SendResult is a roster.Posted as other processes read it.
type SendResult struct {
	Name  string     `json:"name"`
	ID    mailbox.ID `json:"id"`
	Error string     `json:"error,omitempty"`
}

// EncodePosted returns what was posted as other processes read it.
func EncodePosted(all []team.SendResult) []SendResult {
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

// DecodePosted is the way back.
func DecodePosted(all []SendResult) []team.SendResult {
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

func method(name string) rpc.Method[request, reply] {
	return rpc.Method[request, reply]{Name: name, Class: rpc.Participate}
}

// longestWait bounds how long one request waits, so that what waits for nobody
// ends soon.
const longestWait = 20 * time.Second

var errNoMember = errors.New("the request does not say which member it is of")

// requests are what a program asks through the socket, by name: what a member does,
// within the time of the server, or, where it waits for something, the time to wait.
var requests = map[string]func(ctx, wait context.Context, m *Member, in *fields, out *results) error{
	"join":  func(_, _ context.Context, _ *Member, _ *fields, _ *results) error { return nil },
	"read":  func(_, _ context.Context, _ *Member, _ *fields, _ *results) error { return nil }, // what was read is recorded for each
	"leave": func(ctx, _ context.Context, m *Member, _ *fields, _ *results) error { return m.Leave(ctx) },
	"post": func(_, _ context.Context, m *Member, in *fields, out *results) error {
		if in.Message == nil {
			return errors.New("the request holds no letter")
		}
		posted, err := m.Send(*in.Message)
		out.Posted = EncodePosted(posted)
		return err
	},
	"respond": func(_, _ context.Context, m *Member, in *fields, _ *results) error {
		if in.Response == nil {
			return errors.New("the request holds no response")
		}
		return m.AnswerShutdown(in.Response.RequestID, in.Response.Approve, in.Response.Reason)
	},
	"inbox": func(_, wait context.Context, m *Member, in *fields, out *results) (err error) {
		out.Mail, err = m.Inbox(wait, in.Max)
		return err
	},
	"text": func(_, _ context.Context, m *Member, in *fields, out *results) error {
		part, err := m.Text(in.ID, in.Offset)
		if err == nil {
			out.Part = &part
		}
		return err
	},
	"task": func(ctx, _ context.Context, m *Member, in *fields, out *results) error {
		result, err := m.Task(ctx, in.Tool, in.Input)
		out.Result = &result
		return err
	},
	"ask": func(_, wait context.Context, m *Member, in *fields, out *results) error {
		said, err := m.askOrAnswer(wait, in.Choice, in.Question)
		out.Reply = &said
		return err
	},
	"state": func(_, _ context.Context, m *Member, in *fields, out *results) (err error) {
		out.State, out.Reason, err = m.State(in.ID)
		return err
	},
	"agents": func(_, _ context.Context, m *Member, _ *fields, out *results) (err error) {
		out.Agents, err = m.Agents()
		return err
	},
	"claim": func(ctx, _ context.Context, m *Member, in *fields, out *results) (err error) {
		out.Task, err = m.Claim(ctx, in.Task)
		return err
	},
	"complete": func(ctx, _ context.Context, m *Member, in *fields, out *results) (err error) {
		out.Task, err = m.Complete(ctx, in.Task)
		return err
	},
	"drop": func(ctx, _ context.Context, m *Member, in *fields, out *results) (err error) {
		out.Task, err = m.Drop(ctx, in.Task)
		return err
	},
}

// askOrAnswer asks, or goes on waiting for the answer to a question.
func (m *Member) askOrAnswer(wait context.Context, choice *event.Choice, question string) (event.Reply, error) {
	if choice == nil {
		return m.Answer(wait, question)
	}
	return m.Ask(wait, *choice)
}

// Serve answers programs of the user through a server. It is called before the server
// is opened.
func (s *Service) Serve(server *rpc.Server) {
	for name, do := range requests {
		rpc.Handle(server, method(name), func(ctx context.Context, c rpc.Caller, in request) (reply, error) {
			m, err := s.asking(c.Method, in.Outside)
			switch {
			case m == nil:
				return reply{}, err
			case err != nil:
				return reply{&results{Superseded: errors.As(err, new(*team.SupersededError))}}, err
			}
			// The time for the answer is not for waiting: what is read is recorded after it.
			wait, cancel := context.WithTimeout(ctx, min(max(in.Outside.Wait, 0), longestWait))
			defer cancel()
			out := &results{Incarnation: m.Incarnation()}
			if err := m.Read(in.Outside.Read...); err != nil {
				return reply{out}, err
			}
			return reply{out}, do(ctx, wait, m, in.Outside, out)
		})
	}
}

// asking returns the member that asks. Who has joined before and says as whom goes on
// as that. Without a name there is no member.
func (s *Service) asking(method string, in *fields) (*Member, error) {
	switch {
	case in == nil || in.Name == "":
		return nil, errNoMember
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

// Errors are the errors of members that are the same on both sides of the socket.
func Errors() rpc.Errors { return rpc.Errors{rpc.Type[*team.SupersededError]("superseded")} }

// Client is a member of a session that another process runs. Its methods are those of
// Member and may be called from any goroutine.
type Client struct {
	c           *rpc.Client
	name        string
	incarnation uint32
}

// Join makes the program that calls a member of the session that a client reaches. With
// an incarnation it goes on in that, unless another program has joined since.
func Join(ctx context.Context, c *rpc.Client, name string, incarnation uint32) (*Client, error) {
	m := &Client{c: c, name: name, incarnation: incarnation}
	out, err := m.ask(ctx, "join", fields{})
	if err != nil {
		return nil, err
	}
	m.incarnation = out.Incarnation
	return m, nil
}

// Incarnation is what Join takes to go on.
func (m *Client) Incarnation() uint32 { return m.incarnation }

func (m *Client) ask(ctx context.Context, name string, in fields) (results, error) {
	in.Name, in.Incarnation = m.name, m.incarnation
	out, err := rpc.Call(ctx, m.c, method(name), request{&in})
	if out.Outside == nil {
		out.Outside = &results{}
	}
	if out.Outside.Superseded {
		err = &team.SupersededError{Name: m.name}
	}
	return *out.Outside, err
}

// Send is Member.Send.
func (m *Client) Send(ctx context.Context, l mailbox.Message) ([]team.SendResult, error) {
	out, err := m.ask(ctx, "post", fields{Message: &l})
	return DecodePosted(out.Posted), err
}

// Inbox is Member.Inbox after a Member.Read of some messages. It waits for at most
// the time given.
func (m *Client) Inbox(ctx context.Context, most int, wait time.Duration, read ...mailbox.ID) ([]mailbox.Received, error) {
	for {
		step := min(wait, longestWait)
		out, err := m.ask(ctx, "inbox", fields{Max: most, Wait: step, Read: read})
		if wait -= step; err != nil || len(out.Mail) > 0 || wait <= 0 {
			return out.Mail, err
		}
		read = nil
	}
}

// Text is Member.Text.
func (m *Client) Text(ctx context.Context, id mailbox.ID, offset int) (mailbox.TextPart, error) {
	out, err := m.ask(ctx, "text", fields{ID: id, Offset: offset})
	if out.Part == nil {
		return mailbox.TextPart{}, err
	}
	return *out.Part, err
}

// AnswerShutdown is Member.AnswerShutdown.
func (m *Client) AnswerShutdown(ctx context.Context, request string, approve bool, reason string) error {
	_, err := m.ask(ctx, "respond", fields{Response: &message.ShutdownResponse{RequestID: request, Approve: approve, Reason: reason}})
	return err
}

// Read is Member.Read.
func (m *Client) Read(ctx context.Context, ids ...mailbox.ID) error {
	_, err := m.ask(ctx, "read", fields{Read: ids})
	return err
}

// State is Member.State.
func (m *Client) State(ctx context.Context, id mailbox.ID) (mailbox.State, string, error) {
	out, err := m.ask(ctx, "state", fields{ID: id})
	return out.State, out.Reason, err
}

// Agents is Member.Agents.
func (m *Client) Agents(ctx context.Context) ([]Agent, error) {
	out, err := m.ask(ctx, "agents", fields{})
	return out.Agents, err
}

// Claim is Member.Claim.
func (m *Client) Claim(ctx context.Context, id board.ID) (*board.Task, error) {
	out, err := m.ask(ctx, "claim", fields{Task: id})
	return out.Task, err
}

// Complete is Member.Complete.
func (m *Client) Complete(ctx context.Context, id board.ID) (*board.Task, error) {
	out, err := m.ask(ctx, "complete", fields{Task: id})
	return out.Task, err
}

// Drop is Member.Drop.
func (m *Client) Drop(ctx context.Context, id board.ID) (*board.Task, error) {
	out, err := m.ask(ctx, "drop", fields{Task: id})
	return out.Task, err
}

// Task is Member.Task.
func (m *Client) Task(ctx context.Context, name string, input json.RawMessage) (tool.Result, error) {
	out, err := m.ask(ctx, "task", fields{Tool: name, Input: input})
	if out.Result == nil {
		return tool.Result{}, err
	}
	return *out.Result, err
}

// Ask is Member.Ask, which waits for at most the time given.
func (m *Client) Ask(ctx context.Context, q event.Choice, wait time.Duration) (event.Reply, error) {
	step := min(wait, longestWait)
	out, err := m.ask(ctx, "ask", fields{Choice: &q, Wait: step})
	if err != nil || out.Reply == nil {
		return event.Reply{}, err
	}
	if wait -= step; out.Reply.State != "" || wait <= 0 {
		return *out.Reply, nil
	}
	return m.Answer(ctx, out.Reply.ID, wait)
}

// Answer is Member.Answer, which waits for at most the time given.
func (m *Client) Answer(ctx context.Context, id string, wait time.Duration) (event.Reply, error) {
	for {
		step := min(wait, longestWait)
		out, err := m.ask(ctx, "ask", fields{Question: id, Wait: step})
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
	_, err := m.ask(ctx, "leave", fields{})
	return err
}
