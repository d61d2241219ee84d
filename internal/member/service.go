package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/roster"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
	"github.com/actorswarm/swarm/tool"
)

// Options are what a service needs of a session. All but Object and Log are required.
type Options struct {
	Session  string // its id
	Agents   *coordinator.Coordinator
	Roster   *roster.Roster
	Store    *transcript.Store
	Boards   *roster.Boards
	TaskList func(team string) string // name of the task list of a team; "" is the session's
	// Object returns where on the session's server the whole of a long text is; nil says
	// nothing of it.
	Object func(mailbox.Ref) string
	Log    *slog.Logger // nil discards
}

// Service are the programs that are members of a session. Its methods may be called
// from any goroutine.
type Service struct {
	ctx       context.Context
	o         Options
	all       *roster.Members
	questions questions
	work      sync.WaitGroup
	gateway   atomic.Pointer[Gateway] // nil before programs with a key are answered
}

// New returns the members of a session. What they ask the user is withdrawn when ctx
// ends.
func New(ctx context.Context, o Options) *Service {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{ctx: ctx, o: o, all: roster.NewMembers(o.Agents, o.Roster, o.Boards, o.TaskList)}
}

// Wait returns when no question waits any more, after the context of New has ended.
func (s *Service) Wait() { s.work.Wait() }

// Wake says that mail has come for a member. It never blocks.
func (s *Service) Wake(id mailbox.AgentID) { s.all.Notify(id) }

// Arrived passes a message to an agent that is on disk on to the program with a key that
// the agent is, if it is one.
func (s *Service) Arrived(to agent.Spec, e mailbox.Envelope) {
	if g := s.gateway.Load(); g != nil && to.Role == agent.Outside {
		g.Arrived(e)
	}
}

// Proxy returns the member of an id that stands for another session.
func (s *Service) StandIn(id mailbox.AgentID) (*roster.Member, error) { return s.all.Proxy(id) }

// BoardMember is a program in one of its incarnations. Each call of a method is a sign of
// life; a program that gives none for ten minutes loses the tasks that it has taken.
type Member struct {
	s *Service
	m *roster.Member
}

// Join makes a program a member under a name. The member of that name goes on in a new
// incarnation: what an older one does from then on is a *roster.SupersededError.
func (s *Service) Join(name string) (*Member, error) {
	m, err := s.all.Join(name)
	if err != nil {
		return nil, fmt.Errorf("join as %s: %w", name, err)
	}
	return &Member{s, m}, nil
}

// Rejoin returns a member in an incarnation that it has joined as; 0 is the newest.
func (s *Service) Rejoin(name string, incarnation uint32) (*Member, error) {
	m, err := s.all.Member(name, incarnation)
	return &Member{s, m}, err
}

// ID is the member's id.
func (m *Member) ID() mailbox.AgentID { return m.record().ID() }

// Name is what others write to.
func (m *Member) Name() string { return m.record().Spec().Name }

// Incarnation is what Rejoin takes.
func (m *Member) Incarnation() uint32 { return m.m.Incarnation() }

func (m *Member) record() *transcript.Transcript { return m.m.Transcript() }

// Send writes to an agent, or to all. It returns when the message is on disk.
func (m *Member) Send(l mailbox.Message) ([]team.SendResult, error) {
	if strings.TrimSpace(l.Text) == "" {
		return nil, errors.New("the message is empty")
	}
	if err := turn.CheckForeign(l.Text, l.Summary); err != nil {
		m.s.o.Agents.Refused(m.ID(), "a message to "+l.To, err)
		return nil, err
	}
	return m.m.Send(team.Message{To: l.To, Text: l.Text, Summary: l.Summary, Class: l.Class, ReplyTo: l.ReplyTo, Key: l.Key})
}

// Inbox returns the unread messages, oldest first and at most so many of them. It
// waits for one until ctx ends, which is no error. A message stays unread until Read.
func (m *Member) Inbox(ctx context.Context, most int) ([]mailbox.Received, error) {
	mail, err := m.m.Inbox(ctx, most)
	if err != nil {
		return nil, err
	}
	all := make([]mailbox.Received, fitting(mail))
	for i := range all {
		all[i] = m.s.received(mail[i])
	}
	return all, nil
}

// Read says that the program has messages; their senders are told. It returns when
// that is on disk.
func (m *Member) Read(ids ...mailbox.ID) error { return m.m.Read(ids...) }

// State returns what became of a message that the member has sent, and why.
func (m *Member) State(id mailbox.ID) (mailbox.State, string, error) {
	if err := m.m.Alive(); err != nil {
		return "", "", err
	}
	st, ok := m.record().Status(id)
	if !ok {
		return "", "", fmt.Errorf("%s has sent no message %.64q that is still known", m.ID(), id)
	}
	return st.State, st.Reason, nil
}

// AnswerShutdown is the member's answer to a message of kind shutdown_request: it
// ends, or objects, which it can do once.
func (m *Member) AnswerShutdown(request string, approve bool, reason string) error {
	if err := m.m.Alive(); err != nil {
		return err
	}
	return m.s.o.Agents.AnswerShutdown(m.ID(), message.ShutdownResponse{RequestID: request, Approve: approve, Reason: reason}, fmt.Sprint(request, approve))
}

// Agent is a look at somebody who can be written to.
type Agent struct {
	Name  string          `json:"name"`
	ID    mailbox.AgentID `json:"id"`
	Type  string          `json:"type"`
	State string          `json:"state"`
}

// Agents returns who can be written to.
func (m *Member) Agents() ([]Agent, error) {
	if err := m.m.Alive(); err != nil {
		return nil, err
	}
	found := []Agent{}
	all, err := m.s.o.Roster.Members()
	for _, a := range all {
		if s := a.Record.Spec; s.ID != m.ID() {
			found = append(found, Agent{agent.DisplayName(s), s.ID, s.Type, a.State.Name})
		}
	}
	return found, err
}

// Tasks returns the tasks of the session's list.
func (m *Member) Tasks(ctx context.Context) ([]board.Task, error) {
	if err := m.m.Alive(); err != nil {
		return nil, err
	}
	b, err := m.s.board(ctx)
	if err != nil {
		return []board.Task{}, err
	}
	return append([]board.Task{}, b.List()...), nil
}

func (s *Service) board(ctx context.Context) (*board.Board, error) {
	return s.o.Boards.Get(ctx, s.o.TaskList(""))
}

// Claim takes a task, "" for the next one that is free.
func (m *Member) Claim(ctx context.Context, id board.ID) (*board.Task, error) {
	if err := m.m.Alive(); err != nil {
		return nil, err
	}
	b, err := m.s.board(ctx)
	if err != nil {
		return nil, err
	}
	var t board.Task
	if id == "" {
		t, err = b.Next(ctx, roster.BoardMember(m.record().Record()))
	} else {
		t, err = b.Claim(ctx, roster.BoardMember(m.record().Record()), id)
	}
	if err != nil {
		return nil, err
	}
	return &t, nil
}

// Complete completes a task that the member has taken.
func (m *Member) Complete(ctx context.Context, id board.ID) (*board.Task, error) {
	return m.move(ctx, id, board.Completed)
}

// Drop gives back a task that the member has taken.
func (m *Member) Drop(ctx context.Context, id board.ID) (*board.Task, error) {
	return m.move(ctx, id, board.Pending)
}

func (m *Member) move(ctx context.Context, id board.ID, to board.Status) (*board.Task, error) {
	if err := m.m.Alive(); err != nil {
		return nil, err
	}
	self := coordinator.Agent{Transcript: m.record(), Spec: m.record().Spec()}
	t, err := m.s.o.Roster.MoveTask(ctx, self, m.s.o.Boards, m.s.o.TaskList, id, to)
	if err != nil {
		return nil, err
	}
	return &t, nil
}

// Task calls TaskCreate, TaskGet, TaskList or TaskUpdate, as the agents do, with
// the input of that tool. What cannot be done is said in the result.
func (m *Member) Task(ctx context.Context, name string, input json.RawMessage) (tool.Result, error) {
	return m.m.Task(ctx, name, input)
}

// Leave gives back the tasks that the program has taken and withdraws what it
// asks. The member stays: its mail waits for who joins as it next.
func (m *Member) Leave(ctx context.Context) error {
	m.s.questions.withdraw(m)
	return m.m.Leave(ctx)
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

func (s *Service) received(e mailbox.Envelope) mailbox.Received {
	m := mailbox.Received{
		ID: e.ID, From: e.FromName, FromID: e.From.Agent, Kind: e.Kind, Class: e.ClassOf(), Summary: e.Summary,
		Text: e.Body, ReplyTo: e.InReplyTo, Ref: e.Ref, Sent: e.Sent,
	}
	if e.Ref != "" && s.o.Object != nil {
		m.Object = s.o.Object(e.Ref)
	}
	return m
}

// Text returns the part of the text of a message to the member that begins at an
// offset, in bytes, whether or not it has read the message. Of a message that has a
// Ref, Received holds only the beginning.
func (m *Member) Text(id mailbox.ID, offset int) (mailbox.TextPart, error) {
	if err := m.m.Alive(); err != nil {
		return mailbox.TextPart{}, err
	}
	e, found, err := m.s.o.Store.Got(m.ID(), id)
	if err != nil {
		return mailbox.TextPart{}, err
	}
	if !found {
		return mailbox.TextPart{}, fmt.Errorf("%s has got no message %.64q", m.ID(), id)
	}
	text, err := m.s.o.Store.Body(e)
	if err != nil {
		return mailbox.TextPart{}, err
	}
	return part(text, offset)
}

func part(text string, offset int) (mailbox.TextPart, error) {
	if offset < 0 || offset > len(text) || offset < len(text) && !utf8.RuneStart(text[offset]) {
		return mailbox.TextPart{}, fmt.Errorf("no part of the text begins at %d; begin with 0 and go on with what next says", offset)
	}
	p := mailbox.TextPart{Text: mailbox.Cut(text[offset:], mostText), Size: len(text)}
	if end := offset + len(p.Text); end < len(text) {
		p.Next = end
	}
	return p, nil
}
