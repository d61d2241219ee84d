package event

import (
	"fmt"
	"slices"
	"strings"
)

// Answer is a person's answer to a question.
type Answer struct {
	// Allow permits the call. A question of the agent's own is declined when it has
	// neither Choices nor Text, whatever Allow is.
	Allow bool `json:"allow"`
	// Note goes to the agent's model with the result of the call.
	Note string `json:"note,omitempty"`
	// Always also permits the calls that match the question's Rules from now on, in the
	// whole session.
	Always bool `json:"always,omitempty"`
	// Scope names the settings file in which an Always answer is saved: local, project or
	// user. If it is "", the answer holds for the session.
	Scope string `json:"scope,omitempty"`
	// Choices answer a question of the agent's own: for each of its Choices the
	// selected labels, or other text.
	Choices [][]string `json:"choices,omitempty"`
	// Text answers a question of the agent's own as a whole.
	Text string `json:"text,omitempty"`
}

// IsAnswer reports whether a answers a question of the agent's own.
func (a Answer) IsAnswer() bool {
	return strings.TrimSpace(a.Text) != "" || slices.ContainsFunc(a.Choices, func(c []string) bool { return len(c) > 0 })
}

// UnknownQuestionError reports a question that is not open.
type UnknownQuestionError struct {
	ID   string
	Open []string // ids of the open questions
}

func (e *UnknownQuestionError) Error() string {
	if len(e.Open) == 0 {
		return fmt.Sprintf("there is no open question %q; no question is open", e.ID)
	}
	return fmt.Sprintf("there is no open question %q; open are: %s", e.ID, strings.Join(e.Open, ", "))
}

// ResolvedQuestionError reports an answer to a question that is resolved.
type ResolvedQuestionError struct {
	ID    string
	State QuestionState
}

func (e *ResolvedQuestionError) Error() string {
	return fmt.Sprintf("question %s is already resolved (%s); this answer changes nothing", e.ID, e.State)
}

// AnswerNotPermittedError reports an answer that does not fit the question.
type AnswerNotPermittedError struct {
	ID     string
	Reason string
}

func (e *AnswerNotPermittedError) Error() string {
	return fmt.Sprintf("question %s cannot be answered like this: %s", e.ID, e.Reason)
}

// QuestionState is how a question was resolved.
type QuestionState string

// The states of a resolved question.
const (
	QuestionAnswered  QuestionState = "answered"
	QuestionExpired   QuestionState = "expired"
	QuestionWithdrawn QuestionState = "withdrawn" // the asker no longer waits
	QuestionCovered   QuestionState = "covered"   // a rule permits it now
)

// Resolution is how a question was resolved. Answer is set if it was answered.
type Resolution struct {
	State  QuestionState
	Answer Answer
	By     string // who answered
}

// Reply is the state of a question that a program asked.
type Reply struct {
	ID     string        `json:"id"`     // of the question
	State  QuestionState `json:"state"`  // "" while it is open
	Answer Answer        `json:"answer"` // if it was answered
}
