package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/mailbox/message"
	"github.com/actorswarm/swarm/team"
)

// Ask asks the user a question and waits for the answer until ctx ends, which is no
// error: the question stays open, and Answer continues to wait. The answer is also sent
// as a message, in case the program has ended by then. If there is no user to ask, the
// error is coordinator.ErrUnattended.
func (m *Member) Ask(ctx context.Context, q event.Choice) (event.Reply, error) {
	if err := m.member.Alive(); err != nil {
		return event.Reply{}, err
	}
	id, err := m.service.ask(m, q)
	if err != nil {
		return event.Reply{}, err
	}
	return m.Answer(ctx, id)
}

// Answer waits for the answer to a question of the member until ctx ends, which is no
// error.
func (m *Member) Answer(ctx context.Context, id string) (event.Reply, error) {
	if err := m.member.Alive(); err != nil {
		return event.Reply{}, err
	}
	q, err := m.service.questions.find(m, id)
	if err != nil {
		return event.Reply{}, err
	}
	select {
	case <-q.done:
		return q.reply, m.member.Await(ctx, q.mail)
	case <-ctx.Done():
		return event.Reply{ID: id}, nil
	}
}

// questions holds the open questions of members.
type questions struct {
	mu  sync.Mutex
	all map[string]*question // guarded by mu
}

// question is one of them. reply and mail are written before done is closed.
type question struct {
	member   *Member
	withdraw context.CancelCauseFunc
	done     chan struct{}
	reply    event.Reply
	mail     mailbox.ID // the message with the answer
}

var (
	errLeft     = errors.New("the member has left")
	errNoOutbox = errors.New("the user of the session has no outbox yet")
)

func (s *Service) ask(m *Member, choice event.Choice) (string, error) {
	q := &question{member: m, done: make(chan struct{})}
	asked, err := s.options.Agents.AskUser(m.ID(), []event.Choice{choice}, func(id string, end event.Resolution) (err error) {
		q.mail, err = s.sendAnswer(m, id, choice, end)
		return err
	})
	if err != nil {
		return "", err
	}
	ctx, leave := context.WithCancelCause(s.ctx)
	q.withdraw = leave
	s.questions.add(asked.ID(), q)
	s.goroutines.Go(func() {
		defer leave(nil)
		defer close(q.done)
		end, err := asked.Wait(ctx)
		if err != nil && ctx.Err() == nil {
			s.options.Log.Warn("the end of a question could not be recorded", "question", asked.ID(), "error", err)
		}
		q.reply = event.Reply{ID: asked.ID(), State: end.State, Answer: end.Answer}
	})
	return asked.ID(), nil
}

func (a *questions) add(id string, q *question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil {
		a.all = map[string]*question{}
	}
	a.all[id] = q
}

func (a *questions) find(m *Member, id string) (*question, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := a.all[id]
	if q == nil || q.member.ID() != m.ID() {
		return nil, fmt.Errorf("there is no question %q of %s; its answer, if there was one, is a message", id, m.Name())
	}
	return q, nil
}

// withdraw ends the questions of a member in its incarnation.
func (a *questions) withdraw(m *Member) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, q := range a.all {
		if q.member.ID() == m.ID() && q.member.Incarnation() == m.Incarnation() {
			q.withdraw(errLeft)
			delete(a.all, id)
		}
	}
}

// sendAnswer sends the answer as a message, which makes it durable, and returns the
// message's id.
func (s *Service) sendAnswer(m *Member, id string, c event.Choice, end event.Resolution) (mailbox.ID, error) {
	said := message.Answer{RequestID: id, Text: cmp.Or(end.Answer.Text, end.Answer.Note), Chosen: slices.Concat(end.Answer.Choices...)}
	if end.State == event.QuestionExpired {
		said.Text = "nobody answered in time"
	}
	body, err := message.Encode(said)
	if err != nil {
		return "", err
	}
	user, ok := s.options.Store.Get(agent.UserID)
	if !ok {
		return "", errNoOutbox
	}
	posted, err := s.options.Roster.Send(user, team.Message{
		To: string(m.ID()), Text: body, Kind: mailbox.KindAnswer, Summary: "answer: " + mailbox.FirstLine(c.Question, 100), Key: id,
	})
	if err != nil || len(posted) != 1 {
		return "", err
	}
	return posted[0].ID, nil
}
