package coordinator

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/ask"
	"github.com/actorswarm/swarm/internal/coordinator/report"
	"github.com/actorswarm/swarm/internal/coordinator/tools"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// UserQuestion is a question of a member without a host.
type UserQuestion struct {
	c      *Coordinator
	t      *transcript.Transcript
	ticket *ask.Ticket
}

// AskUser asks the user a question of a member without a host, under a random id.
// record puts the resolution on disk. The caller must call Wait. The error is
// actors.ErrUnattended if no person answers questions.
func (ms *members) AskUser(by mailbox.AgentID, choices []event.Choice, record func(id string, s event.Resolution) error) (*UserQuestion, error) {
	if !ms.c.opts.Policy.Asks() {
		return nil, actors.ErrUnattended
	}
	q := event.Question{ID: string(ms.c.NewID("q")), Choices: choices, Asked: time.Now()}
	if within := ms.c.opts.Policy.AskTimeout; within > 0 {
		q.Expires = q.Asked.Add(within)
	}
	return ms.PoseQuestion(by, q, func(s event.Resolution) error { return record(q.ID, s) })
}

// PoseQuestion is AskUser for a question that the caller has on disk, with id and times.
// It waits even if no person answers questions.now.
func (ms *members) PoseQuestion(by mailbox.AgentID, q event.Question, record func(event.Resolution) error) (*UserQuestion, error) {
	t, err := ms.c.transcript(by)
	if err != nil {
		return nil, err
	}
	if len(q.Choices) != 1 || strings.TrimSpace(q.Choices[0].Question) == "" {
		return nil, errors.New("the question is empty; write what the user is to decide")
	}
	q.Agent, q.Kind, q.Tool = agent.Describe(t.Spec()), event.AsksAnswer, tools.QuestionName
	q.Summary = report.Cut(report.OneLine(q.Choices[0].Question), 200)
	ticket := ms.c.questions.Open(ask.Request{Question: q, Record: record})
	ms.c.publish(t, event.Asked{Question: ticket.Question()})
	return &UserQuestion{ms.c, t, ticket}, nil
}

// ID returns the id under which the question is answered.
func (q *UserQuestion) ID() string { return q.ticket.Question().ID }

// Wait returns how the question was resolved. The question is withdrawn when ctx ends.
func (q *UserQuestion) Wait(ctx context.Context) (event.Resolution, error) {
	s, err := q.ticket.Wait(ctx)
	q.c.publish(q.t, event.QuestionResolved{
		ID: q.ID(), State: string(s.State), Allow: s.Answer.Allow, By: s.By, Note: s.Answer.Note,
	})
	return s, err
}
