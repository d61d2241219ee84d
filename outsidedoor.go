package swarm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/tool"
)

// outsideRequest is what the verbs of outside members take.
type outsideRequest struct {
	Name        string `json:"name"`
	Incarnation uint32 `json:"incarnation,omitempty"`

	Letter   *Letter         `json:"letter,omitempty"`
	Wait     time.Duration   `json:"wait,omitempty"` // nanoseconds; at most longestWait counts
	Max      int             `json:"max,omitempty"`
	Read     []mailbox.ID    `json:"read,omitempty"` // messages that the member has
	Tool     string          `json:"tool,omitempty"`
	Input    json.RawMessage `json:"input,omitempty"`
	Choice   *event.Choice   `json:"choice,omitempty"`
	Question string          `json:"question,omitempty"` // id of one that was asked before
	Message  mailbox.ID      `json:"message,omitempty"`
	Offset   int             `json:"offset,omitempty"` // in its text

	Response *message.ShutdownResponse `json:"response,omitempty"`
}

// outsideReply is what they answer.
type outsideReply struct {
	Incarnation uint32       `json:"incarnation,omitempty"`
	Posted      []post       `json:"posted,omitempty"`
	Mail        []Mail       `json:"mail,omitempty"`
	Result      *tool.Result `json:"result,omitempty"`
	Reply       *Reply       `json:"reply,omitempty"`
	Part        *TextPart    `json:"part,omitempty"`
	Superseded  bool         `json:"superseded,omitempty"`
}

// longestWait bounds how long one request waits, so that what waits for nobody
// ends soon.
const longestWait = 20 * time.Second

var errNoMember = errors.New("the request does not say which member it is of")

// serveOutside does a request of an outside member.
func (s *Session) serveOutside(ctx context.Context, verb string, in *outsideRequest) (*outsideReply, error) {
	if in == nil || in.Name == "" {
		return nil, errNoMember
	}
	o, err := s.outsiderOf(verb, in)
	if err != nil {
		return &outsideReply{Superseded: errors.As(err, new(*team.SupersededError))}, err
	}
	out := &outsideReply{Incarnation: o.m.Incarnation()}
	return out, o.serve(ctx, verb, in, out)
}

// outsiderOf returns the member that asks. Who has joined before and says as whom
// goes on as that.
func (s *Session) outsiderOf(verb string, in *outsideRequest) (*Outsider, error) {
	switch {
	case in.Incarnation != 0:
		m, err := s.outsiders.Member(in.Name, in.Incarnation)
		return &Outsider{s, m}, err
	case verb == "join":
		return s.Join(in.Name)
	}
	return nil, fmt.Errorf("%s has not joined", in.Name)
}

func (o *Outsider) serve(ctx context.Context, verb string, in *outsideRequest, out *outsideReply) (err error) {
	// The time for the answer is not for waiting: what is read is recorded after it.
	wait, cancel := context.WithTimeout(ctx, min(max(in.Wait, 0), longestWait))
	defer cancel()
	if err := o.Read(in.Read...); err != nil {
		return err
	}
	switch verb {
	case "leave":
		return o.Leave(ctx)
	case "post":
		if in.Letter == nil {
			return errors.New("the request holds no letter")
		}
		posted, err := o.Send(*in.Letter)
		out.Posted = posts(posted)
		return err
	case "respond":
		if in.Response == nil {
			return errors.New("the request holds no response")
		}
		return o.AnswerShutdown(in.Response.RequestID, in.Response.Approve, in.Response.Reason)
	case "inbox":
		out.Mail, err = o.Inbox(wait, in.Max)
		return err
	case "text":
		part, err := o.Text(in.Message, in.Offset)
		if err == nil {
			out.Part = &part
		}
		return err
	case "task":
		result, err := o.Task(ctx, in.Tool, in.Input)
		out.Result = &result
		return err
	case "ask":
		reply, err := o.ask(wait, in)
		out.Reply = &reply
		return err
	}
	return nil
}

func (o *Outsider) ask(wait context.Context, in *outsideRequest) (Reply, error) {
	if in.Choice == nil {
		return o.Answer(wait, in.Question)
	}
	return o.Ask(wait, *in.Choice)
}

// RemoteOutsider is an Outsider of a session that another process runs. Its
// methods may be called from any goroutine.
type RemoteOutsider struct {
	r           *Remote
	name        string
	incarnation uint32
}

// Join makes the program that calls a member of the session. See Session.Join.
func (r *Remote) Join(ctx context.Context, name string) (*RemoteOutsider, error) {
	return r.Rejoin(ctx, name, 0)
}

// Rejoin goes on in an incarnation that the program had before its connection
// broke. It is a *SupersededError if another program has joined since.
func (r *Remote) Rejoin(ctx context.Context, name string, incarnation uint32) (*RemoteOutsider, error) {
	o := &RemoteOutsider{r: r, name: name, incarnation: incarnation}
	out, err := o.ask(ctx, "join", outsideRequest{})
	if err != nil {
		return nil, err
	}
	o.incarnation = out.Incarnation
	return o, nil
}

// SupersededError reports a request of a program whose place another has taken.
type SupersededError = team.SupersededError

// FinalError reports a member that was ended for good.
type FinalError = actors.FinalError

// Incarnation is what Rejoin takes.
func (o *RemoteOutsider) Incarnation() uint32 { return o.incarnation }

func (o *RemoteOutsider) ask(ctx context.Context, verb string, in outsideRequest) (outsideReply, error) {
	in.Name, in.Incarnation = o.name, o.incarnation
	out, err := rpc.Call(ctx, o.r.client, apiMember(verb), memberIn{&in})
	if out.Outside == nil {
		out.Outside = &outsideReply{}
	}
	if out.Outside.Superseded {
		err = &SupersededError{Name: o.name}
	}
	return *out.Outside, err
}

// Send is Outsider.Send.
func (o *RemoteOutsider) Send(ctx context.Context, l Letter) ([]team.Posted, error) {
	out, err := o.ask(ctx, "post", outsideRequest{Letter: &l})
	return unpost(out.Posted), err
}

// Inbox is Outsider.Inbox after an Outsider.Read of some messages. It waits for at
// most the time given.
func (o *RemoteOutsider) Inbox(ctx context.Context, most int, wait time.Duration, read ...mailbox.ID) ([]Mail, error) {
	for {
		step := min(wait, longestWait)
		out, err := o.ask(ctx, "inbox", outsideRequest{Max: most, Wait: step, Read: read})
		if wait -= step; err != nil || len(out.Mail) > 0 || wait <= 0 {
			return out.Mail, err
		}
		read = nil
	}
}

// Text is Outsider.Text.
func (o *RemoteOutsider) Text(ctx context.Context, id mailbox.ID, offset int) (TextPart, error) {
	out, err := o.ask(ctx, "text", outsideRequest{Message: id, Offset: offset})
	if out.Part == nil {
		return TextPart{}, err
	}
	return *out.Part, err
}

// AnswerShutdown is Outsider.AnswerShutdown.
func (o *RemoteOutsider) AnswerShutdown(ctx context.Context, request string, approve bool, reason string) error {
	_, err := o.ask(ctx, "respond", outsideRequest{Response: &message.ShutdownResponse{RequestID: request, Approve: approve, Reason: reason}})
	return err
}

// Read is Outsider.Read.
func (o *RemoteOutsider) Read(ctx context.Context, ids ...mailbox.ID) error {
	_, err := o.ask(ctx, "read", outsideRequest{Read: ids})
	return err
}

// Task is Outsider.Task.
func (o *RemoteOutsider) Task(ctx context.Context, name string, input json.RawMessage) (tool.Result, error) {
	out, err := o.ask(ctx, "task", outsideRequest{Tool: name, Input: input})
	if out.Result == nil {
		return tool.Result{}, err
	}
	return *out.Result, err
}

// Ask is Outsider.Ask, which waits for at most the time given.
func (o *RemoteOutsider) Ask(ctx context.Context, q event.Choice, wait time.Duration) (Reply, error) {
	step := min(wait, longestWait)
	out, err := o.ask(ctx, "ask", outsideRequest{Choice: &q, Wait: step})
	if err != nil || out.Reply == nil {
		return Reply{}, err
	}
	if wait -= step; out.Reply.State != "" || wait <= 0 {
		return *out.Reply, nil
	}
	return o.Answer(ctx, out.Reply.ID, wait)
}

// Answer is Outsider.Answer, which waits for at most the time given.
func (o *RemoteOutsider) Answer(ctx context.Context, id string, wait time.Duration) (Reply, error) {
	for {
		step := min(wait, longestWait)
		out, err := o.ask(ctx, "ask", outsideRequest{Question: id, Wait: step})
		if err != nil || out.Reply == nil {
			return Reply{}, err
		}
		if wait -= step; out.Reply.State != "" || wait <= 0 {
			return *out.Reply, nil
		}
	}
}

// Leave is Outsider.Leave.
func (o *RemoteOutsider) Leave(ctx context.Context) error {
	_, err := o.ask(ctx, "leave", outsideRequest{})
	return err
}
