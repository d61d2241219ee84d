package swarm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/tool"
)

// Outsider is a program that is a member of the session without being run by it:
// others write to it by its name, it works on the shared tasks, and it can ask the
// user. Its methods may be called from any goroutine. Each is a sign of life; a
// program that gives none for ten minutes loses the tasks that it has taken.
type Outsider struct {
	s *Session
	m *team.Outsider
}

// Letter is a message of an outside member.
type Letter struct {
	To      string        `json:"to"` // a name, an agent id, or * for everyone else
	Text    string        `json:"text"`
	Summary string        `json:"summary,omitempty"`
	Class   mailbox.Class `json:"class,omitempty"` // "" is steer for a text
	ReplyTo mailbox.ID    `json:"reply_to,omitempty"`
	// Key makes sending repeatable: two letters with the same key and receiver are
	// one message.
	Key string `json:"key,omitempty"`
}

// Mail is a message to an outside member.
type Mail struct {
	ID      mailbox.ID      `json:"id"`
	From    string          `json:"from"`
	FromID  mailbox.AgentID `json:"from_id"`
	Kind    mailbox.Kind    `json:"kind"`
	Class   mailbox.Class   `json:"class"`
	Summary string          `json:"summary,omitempty"`
	Text    string          `json:"text"`
	ReplyTo mailbox.ID      `json:"reply_to,omitempty"`
	Ref     mailbox.Ref     `json:"ref,omitzero"`    // of a text of which Text is only the beginning
	Object  string          `json:"object,omitzero"` // where that is on the session's server: bucket/name
	Sent    time.Time       `json:"sent"`
}

func (s *Session) mailOf(e mailbox.Envelope) Mail {
	m := Mail{
		ID: e.ID, From: e.FromName, FromID: e.From.Agent, Kind: e.Kind, Class: e.ClassOf(), Summary: e.Summary,
		Text: e.Body, ReplyTo: e.InReplyTo, Ref: e.Ref, Sent: e.Sent,
	}
	if e.Ref != "" {
		m.Object = ObjectName(s.Info().ID, e.Ref)
	}
	return m
}

// Join makes the program that calls a member of the session under a name, of a-z,
// 0-9 and dashes. The member of that name goes on in a new incarnation: what an
// older one does from then on is refused.
func (s *Session) Join(name string) (*Outsider, error) {
	m, err := s.outsiders.Join(name)
	if err != nil {
		return nil, fmt.Errorf("join as %s: %w", name, err)
	}
	return &Outsider{s, m}, nil
}

// Name returns the name that others write to.
func (o *Outsider) Name() string { return o.m.Transcript().Spec().Name }

// Send writes to an agent, or to all. It returns when the message is on disk.
func (o *Outsider) Send(l Letter) ([]team.Posted, error) {
	if strings.TrimSpace(l.Text) == "" {
		return nil, errors.New("the message is empty")
	}
	if err := plainWords(l.Text, l.Summary); err != nil {
		o.s.agents.Refused(o.m.Transcript().ID(), "a message to "+l.To, err)
		return nil, err
	}
	return o.m.Send(team.Letter{To: l.To, Text: l.Text, Summary: l.Summary, Class: l.Class, ReplyTo: l.ReplyTo, Key: l.Key})
}

// mostText is how many bytes of texts one answer holds, as far as one message is not
// more. In JSON each may take six, and a NATS server takes 1 MiB by default.
const mostText = 128 << 10

// fitting is how many messages, from the first on, one answer holds.
func fitting(mail []mailbox.Envelope) int {
	size := 0
	for i, e := range mail {
		if size += len(e.Body); size > mostText && i > 0 {
			return i
		}
	}
	return len(mail)
}

// Inbox returns the unread messages, oldest first and at most so many of them. It
// waits for one until ctx ends, which is no error. A message stays unread until
// Read says that the program has it: one that dies before is given it again.
func (o *Outsider) Inbox(ctx context.Context, most int) ([]Mail, error) {
	mail, err := o.m.Inbox(ctx, most)
	if err != nil {
		return nil, err
	}
	all := make([]Mail, fitting(mail))
	for i := range all {
		all[i] = o.s.mailOf(mail[i])
	}
	return all, nil
}

// Text returns the part of the text of a message to the member that begins at an
// offset, in bytes. Of a message that has a Ref, Mail holds only the beginning.
func (o *Outsider) Text(id mailbox.ID, offset int) (TextPart, error) {
	if err := o.m.Alive(); err != nil {
		return TextPart{}, err
	}
	return o.s.partOf(o.m.Transcript(), id, offset)
}

// Read says that the program has messages; their senders are told. It returns
// when that is on disk.
func (o *Outsider) Read(ids ...mailbox.ID) error { return o.m.Read(ids...) }

// AnswerShutdown is the member's answer to a message of kind shutdown_request: it
// ends, or objects, which it can do once.
func (o *Outsider) AnswerShutdown(request string, approve bool, reason string) error {
	if err := o.m.Alive(); err != nil {
		return err
	}
	return o.s.answerShutdown(o.m.Transcript(), request, approve, reason)
}

func (s *Session) answerShutdown(t *transcript.Transcript, request string, approve bool, reason string) error {
	return s.agents.AnswerShutdown(t.ID(), message.ShutdownResponse{RequestID: request, Approve: approve, Reason: reason}, fmt.Sprint(request, approve))
}

// Task calls TaskCreate, TaskGet, TaskList or TaskUpdate, as the agents do, with
// the input of that tool. What cannot be done is said in the result.
func (o *Outsider) Task(ctx context.Context, tool string, input json.RawMessage) (tool.Result, error) {
	return o.m.Task(ctx, tool, input)
}

// Leave gives back the tasks that the program has taken and withdraws what it
// asks. The member stays: its mail waits for who joins as it next.
func (o *Outsider) Leave(ctx context.Context) error {
	o.s.inquiries.leave(o)
	return o.m.Leave(ctx)
}

// Reply is what became of a question of an outside member.
type Reply struct {
	ID     string              `json:"id"`     // of the question
	State  event.QuestionState `json:"state"`  // "" while it waits
	Answer Answer              `json:"answer"` // if it was answered
}

// Ask puts a question to the user and waits for the answer until ctx ends, which
// is no error: the question stays, and Answer goes on waiting. The answer comes as
// a message too, in case the program is gone by then. Where nobody can be asked it
// is ErrUnattended.
func (o *Outsider) Ask(ctx context.Context, q event.Choice) (Reply, error) {
	if err := o.m.Alive(); err != nil {
		return Reply{}, err
	}
	id, err := o.s.inquiries.open(o, q)
	if err != nil {
		return Reply{}, err
	}
	return o.Answer(ctx, id)
}

// Answer waits for the answer to a question of the member until ctx ends, which
// is no error.
func (o *Outsider) Answer(ctx context.Context, id string) (Reply, error) {
	if err := o.m.Alive(); err != nil {
		return Reply{}, err
	}
	q, err := o.s.inquiries.find(o, id)
	if err != nil {
		return Reply{}, err
	}
	select {
	case <-q.done:
		return q.reply, o.m.Await(ctx, q.mail)
	case <-ctx.Done():
		return Reply{ID: id}, nil
	}
}

// ErrUnattended is the answer to a question where there is nobody to ask.
var ErrUnattended = actors.ErrUnattended

// inquiries are the questions of outside members.
type inquiries struct {
	s *Session

	mu  sync.Mutex
	all map[string]*inquiry // guarded by mu
}

// inquiry is one question; reply and mail are written before done is closed.
type inquiry struct {
	by    *Outsider
	leave context.CancelCauseFunc
	done  chan struct{}
	reply Reply
	mail  mailbox.ID // that carries the answer
}

var errLeft = errors.New("the member has left")

func (a *inquiries) open(o *Outsider, choice event.Choice) (string, error) {
	q := &inquiry{by: o, done: make(chan struct{})}
	asked, err := a.s.agents.Inquire(o.m.Transcript().ID(), []event.Choice{choice}, func(id string, s event.Settlement) (err error) {
		q.mail, err = a.s.tellAnswer(o, id, choice, s)
		return err
	})
	if err != nil {
		return "", err
	}
	ctx, leave := context.WithCancelCause(a.s.scope)
	q.leave = leave
	a.mu.Lock()
	if a.all == nil {
		a.all = map[string]*inquiry{}
	}
	a.all[asked.ID()] = q
	a.mu.Unlock()
	a.s.watch.Go(func() {
		defer leave(nil)
		defer close(q.done)
		s, err := asked.Wait(ctx)
		if err != nil && ctx.Err() == nil {
			a.s.opts.Logger.Warn("the end of a question could not be recorded", "question", asked.ID(), "error", err)
		}
		q.reply = Reply{ID: asked.ID(), State: s.State, Answer: s.Answer}
	})
	return asked.ID(), nil
}

func (a *inquiries) find(o *Outsider, id string) (*inquiry, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.all[id]
	if q == nil || q.by.m.Transcript().ID() != o.m.Transcript().ID() {
		return nil, fmt.Errorf("there is no question %q of %s; its answer, if there was one, is a message", id, o.Name())
	}
	return q, nil
}

func (a *inquiries) leave(o *Outsider) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, q := range a.all {
		if q.by.m.Transcript().ID() == o.m.Transcript().ID() && q.by.m.Incarnation() == o.m.Incarnation() {
			q.leave(errLeft)
			delete(a.all, id)
		}
	}
}

// tellAnswer sends the answer, which makes it durable, and returns the message.
func (s *Session) tellAnswer(o *Outsider, id string, c event.Choice, settled event.Settlement) (mailbox.ID, error) {
	said := message.Answer{RequestID: id, Text: first(settled.Answer.Text, settled.Answer.Note)}
	if settled.State == event.QuestionExpired {
		said.Text = "nobody answered in time"
	}
	said.Chosen = slices.Concat(settled.Answer.Choices...)
	body, err := message.Encode(said)
	if err != nil {
		return "", err
	}
	user, ok := s.store.Get(agent.UserID)
	if !ok {
		return "", archive.ErrNoOutbox
	}
	posted, err := s.roster.Send(user, team.Letter{
		To: string(o.m.Transcript().ID()), Text: body, Kind: mailbox.KindAnswer, Summary: "answer: " + mailbox.FirstLine(c.Question, 100), Key: id,
	})
	if err != nil || len(posted) != 1 {
		return "", err
	}
	return posted[0].ID, nil
}
