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
	"github.com/actorswarm/swarm/event"
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

// Options configure New. All but Object, KeyOf, Audit and Log are required.
type Options struct {
	Session  string // its id
	Agents   *coordinator.Coordinator
	Roster   *roster.Roster
	Store    *transcript.Store
	Boards   *roster.Boards
	TaskList func(team string) string // name of the task list of a team; "" is the session's
	// Object returns where on the session's server the whole of a long text is. It may be
	// nil.
	Object func(mailbox.Ref) string
	// KeyOf returns the public key that a name belongs to, or "". nil is no key at all.
	KeyOf func(name string) (string, error)
	Audit func(event.Audit) // records a refusal; may be nil
	Log   *slog.Logger      // nil discards
}

// Service holds the programs that are members of a session. Its methods may be called
// from any goroutine.
type Service struct {
	ctx        context.Context
	options    Options
	members    *roster.Members
	questions  questions
	goroutines sync.WaitGroup
	gateway    atomic.Pointer[Gateway] // nil until programs with a key are answered
}

// New returns the members of a session. Their questions to the user are withdrawn when
// ctx ends.
func New(ctx context.Context, o Options) *Service {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{ctx: ctx, options: o, members: roster.NewMembers(o.Agents, o.Roster, o.Boards, o.TaskList)}
}

// Wait waits for all questions to end, after the context of New has ended.
func (s *Service) Wait() { s.goroutines.Wait() }

// Wake signals that mail has come for a member. It never blocks.
func (s *Service) Wake(id mailbox.AgentID) { s.members.Notify(id) }

// Arrived passes a message on to the gateway if the receiver is a program with a key.
func (s *Service) Arrived(to agent.Spec, e mailbox.Envelope) {
	if g := s.gateway.Load(); g != nil && to.Role == agent.Program {
		g.Arrived(e)
	}
}

// Proxy returns the member for another session.
func (s *Service) Proxy(id mailbox.AgentID) (*roster.Member, error) { return s.members.Proxy(id) }

// Member is a program in one of its incarnations. Each method call shows that the
// program is alive; after ten minutes without one it loses the tasks that it has
// claimed.
type Member struct {
	service *Service
	member  *roster.Member
}

// Join makes a program a member under a name. If there is a member of that name, it
// continues in a new incarnation: calls of an older one fail with a
// *team.SupersededError.
func (s *Service) Join(name string) (*Member, error) {
	m, err := s.members.Join(name)
	if err != nil {
		return nil, fmt.Errorf("join as %s: %w", name, err)
	}
	return &Member{s, m}, nil
}

// Rejoin returns a member in an incarnation that it has joined as; 0 is the newest.
func (s *Service) Rejoin(name string, incarnation uint32) (*Member, error) {
	m, err := s.members.Member(name, incarnation)
	return &Member{s, m}, err
}

// ID returns the member's id.
func (m *Member) ID() mailbox.AgentID { return m.record().ID() }

// Name returns the name that others write to.
func (m *Member) Name() string { return m.record().Spec().Name }

// Incarnation returns the argument for Rejoin.
func (m *Member) Incarnation() uint32 { return m.member.Incarnation() }

func (m *Member) record() *transcript.Transcript { return m.member.Transcript() }

// Send writes to an agent, or to all. It returns when the message is on disk.
func (m *Member) Send(l mailbox.Message) ([]team.SendResult, error) {
	if strings.TrimSpace(l.Text) == "" {
		return nil, errors.New("the message is empty")
	}
	if err := turn.CheckForeign(l.Text, l.Summary); err != nil {
		m.service.options.Agents.Refused(m.ID(), "a message to "+l.To, err)
		return nil, err
	}
	return m.member.Send(team.Message{To: l.To, Text: l.Text, Summary: l.Summary, Class: l.Class, ReplyTo: l.ReplyTo, Key: l.Key})
}

// Inbox returns at most so many unread messages, oldest first. It waits for one until
// ctx ends, which is no error. A message stays unread until Read.
func (m *Member) Inbox(ctx context.Context, most int) ([]mailbox.Received, error) {
	mail, err := m.member.Inbox(ctx, most)
	if err != nil {
		return nil, err
	}
	all := make([]mailbox.Received, countFitting(mail))
	for i := range all {
		all[i] = m.service.received(mail[i])
	}
	return all, nil
}

// Read acknowledges messages, whose senders are notified. It returns when that is on
// disk.
func (m *Member) Read(ids ...mailbox.ID) error { return m.member.Read(ids...) }

// State returns the state of a message that the member has sent, and why.
func (m *Member) State(id mailbox.ID) (mailbox.State, string, error) {
	if err := m.member.Alive(); err != nil {
		return "", "", err
	}
	st, ok := m.record().Status(id)
	if !ok {
		return "", "", fmt.Errorf("%s has sent no message %.64q that is still known", m.ID(), id)
	}
	return st.State, st.Reason, nil
}

// AnswerShutdown answers a message of kind shutdown_request: the member ends, or
// objects, which it can do once.
func (m *Member) AnswerShutdown(request string, approve bool, reason string) error {
	if err := m.member.Alive(); err != nil {
		return err
	}
	return m.service.options.Agents.AnswerShutdown(m.ID(), message.ShutdownResponse{RequestID: request, Approve: approve, Reason: reason}, fmt.Sprint(request, approve))
}

// Agent is an agent or member that can be written to.
type Agent struct {
	Name  string          `json:"name"`
	ID    mailbox.AgentID `json:"id"`
	Type  string          `json:"type"`
	State string          `json:"state"`
}

// Agents returns the agents and members that can be written to.
func (m *Member) Agents() ([]Agent, error) {
	if err := m.member.Alive(); err != nil {
		return nil, err
	}
	found := []Agent{}
	all, err := m.service.options.Roster.Members()
	for _, a := range all {
		if s := a.Record.Spec; s.ID != m.ID() {
			found = append(found, Agent{agent.DisplayName(s), s.ID, s.Type, a.State.Name})
		}
	}
	return found, err
}

// Tasks returns the tasks of the session's list.
func (m *Member) Tasks(ctx context.Context) ([]board.Task, error) {
	if err := m.member.Alive(); err != nil {
		return nil, err
	}
	b, err := m.service.board(ctx)
	if err != nil {
		return []board.Task{}, err
	}
	return append([]board.Task{}, b.List()...), nil
}

func (s *Service) board(ctx context.Context) (*board.Board, error) {
	return s.options.Boards.Get(ctx, s.options.TaskList(""))
}

// Claim claims a task; "" claims the next one that is free.
func (m *Member) Claim(ctx context.Context, id board.ID) (*board.Task, error) {
	if err := m.member.Alive(); err != nil {
		return nil, err
	}
	b, err := m.service.board(ctx)
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

// Complete completes a task that the member has claimed.
func (m *Member) Complete(ctx context.Context, id board.ID) (*board.Task, error) {
	return m.move(ctx, id, board.Completed)
}

// Drop gives up a task that the member has claimed.
func (m *Member) Drop(ctx context.Context, id board.ID) (*board.Task, error) {
	return m.move(ctx, id, board.Pending)
}

func (m *Member) move(ctx context.Context, id board.ID, to board.Status) (*board.Task, error) {
	if err := m.member.Alive(); err != nil {
		return nil, err
	}
	self := coordinator.Agent{Transcript: m.record(), Spec: m.record().Spec()}
	t, err := m.service.options.Roster.MoveTask(ctx, self, m.service.options.Boards, m.service.options.TaskList, id, to)
	if err != nil {
		return nil, err
	}
	return &t, nil
}

// Task calls TaskCreate, TaskGet, TaskList or TaskUpdate with the input of that tool.
// Failures are in the result.
func (m *Member) Task(ctx context.Context, name string, input json.RawMessage) (tool.Result, error) {
	return m.member.Task(ctx, name, input)
}

// Leave gives up the program's tasks and withdraws its questions. The member remains:
// its mail waits for the next program that joins as it.
func (m *Member) Leave(ctx context.Context) error {
	m.service.questions.withdraw(m)
	return m.member.Leave(ctx)
}

// maxReplyText bounds the texts in one reply, in bytes, unless one message alone is
// longer. In JSON each byte may take six, and a NATS server accepts 1 MiB by default.
const maxReplyText = 128 << 10

// countFitting returns how many messages, from the first on, fit into one reply.
func countFitting(mail []mailbox.Envelope) int {
	size := 0
	for i, e := range mail {
		if size += len(e.Body); size > maxReplyText && i > 0 {
			return i
		}
	}
	return len(mail)
}

func (s *Service) received(e mailbox.Envelope) mailbox.Received {
	m := mailbox.Received{
		ID: e.ID, From: e.FromName, FromID: e.From.Agent, Kind: e.Kind, Class: e.EffectiveClass(), Summary: e.Summary,
		Text: e.Body, ReplyTo: e.InReplyTo, Ref: e.Ref, Sent: e.Sent,
	}
	if e.Ref != "" && s.options.Object != nil {
		m.Object = s.options.Object(e.Ref)
	}
	return m
}

// Text returns the part of a message's text that begins at an offset in bytes, whether
// or not the message is read. A received message with a Ref contains only the beginning
// of its text.
func (m *Member) Text(id mailbox.ID, offset int) (mailbox.TextPart, error) {
	if err := m.member.Alive(); err != nil {
		return mailbox.TextPart{}, err
	}
	e, found, err := m.service.options.Store.Got(m.ID(), id)
	if err != nil {
		return mailbox.TextPart{}, err
	}
	if !found {
		return mailbox.TextPart{}, fmt.Errorf("%s has got no message %.64q", m.ID(), id)
	}
	text, err := m.service.options.Store.Body(e)
	if err != nil {
		return mailbox.TextPart{}, err
	}
	return part(text, offset)
}

func part(text string, offset int) (mailbox.TextPart, error) {
	if offset < 0 || offset > len(text) || offset < len(text) && !utf8.RuneStart(text[offset]) {
		return mailbox.TextPart{}, fmt.Errorf("no part of the text begins at %d; begin with 0 and go on with what next says", offset)
	}
	p := mailbox.TextPart{Text: mailbox.Cut(text[offset:], maxReplyText), Size: len(text)}
	if end := offset + len(p.Text); end < len(text) {
		p.Next = end
	}
	return p, nil
}
