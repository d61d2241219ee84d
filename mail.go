package swarm

import (
	"path/filepath"

	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/object"
	"github.com/actorswarm/swarm/mailbox"
)

// Trace is a message and what became of it.
type Trace = mailbox.Trace

// Inbox returns the unread messages of an agent, by name or id, and the last ones that it
// has read, oldest first. It holds only the beginning of long bodies.
func (s *Session) Inbox(name string) ([]Trace, error) { return s.control.Tree().Inbox(name) }

// Message returns a message of the session and its history. The error is an
// *UnknownMessageError if there is none.
func (s *Session) Message(id mailbox.ID) (Trace, error) { return s.control.Tree().Message(id) }

// WholeBody returns the whole body of a message of a session, also of one that
// is kept in a file of its own.
func WholeBody(info Info, e mailbox.Envelope) (string, error) {
	if e.Ref == "" {
		return e.Body, nil
	}
	body, err := object.New(filepath.Join(info.Path, "objects")).Get(e.Ref)
	return string(body), err
}

// Question is a question of an agent to a person: permission for a call, or questions of
// its own. The agent waits, and the question survives a restart.
type Question = event.Question

// Answer is a person's answer to a Question.
type Answer = event.Answer

// The errors of Session.Answer.
type (
	UnknownQuestionError    = event.UnknownQuestionError
	SettledQuestionError    = event.ResolvedQuestionError
	AnswerNotPermittedError = event.AnswerNotPermittedError
)

// Questions returns the open questions of the agents, oldest first.
func (s *Session) Questions() []Question { return s.control.Questions() }

// Answer answers a question. It returns when the answer is on disk. Its errors are
// *UnknownQuestionError, *ResolvedQuestionError, *AnswerNotPermittedError, or the reason
// why the answer could not be recorded.
func (s *Session) Answer(id string, a Answer) error { return s.control.Answer(id, a) }
