package event

import (
	"fmt"
	"slices"
	"strings"
)

// Answer is what a person says to a question.
type Answer struct {
	// Allow lets the call run. A question of the agent's own is declined when
	// there are neither Choices nor Text, whatever Allow says.
	Allow bool `json:"allow"`
	// Note is told to the agent's model with the result of the call.
	Note string `json:"note,omitempty"`
	// Always also allows the calls of the question's Rules from now on, in the
	// whole session.
	Always bool `json:"always,omitempty"`
	// Choices answer a question of the agent's own: for each of its Choices the
	// labels picked, or other text.
	Choices [][]string `json:"choices,omitempty"`
	// Text answers a question of the agent's own as a whole.
	Text string `json:"text,omitempty"`
}

// Answers reports whether a holds something that answers an agent's own question.
func (a Answer) Answers() bool {
	return strings.TrimSpace(a.Text) != "" || slices.ContainsFunc(a.Choices, func(c []string) bool { return len(c) > 0 })
}

// UnknownQuestionError reports a question that is not there, or no longer.
type UnknownQuestionError struct {
	ID   string
	Open []string // ids of the open questions
}

func (e *UnknownQuestionError) Error() string {
	if len(e.Open) == 0 {
		return fmt.Sprintf("there is no open question %q; nobody asks anything now", e.ID)
	}
	return fmt.Sprintf("there is no open question %q; open are: %s", e.ID, strings.Join(e.Open, ", "))
}

// ResolvedQuestionError reports an answer that came too late.
type ResolvedQuestionError struct {
	ID    string
	State QuestionState
}

func (e *ResolvedQuestionError) Error() string {
	return fmt.Sprintf("question %s is settled already (%s); this answer changes nothing", e.ID, e.State)
}

// AnswerNotPermittedError reports an answer that a question does not allow.
type AnswerNotPermittedError struct {
	ID     string
	Reason string
}

func (e *AnswerNotPermittedError) Error() string {
	return fmt.Sprintf("question %s cannot be answered so: %s", e.ID, e.Reason)
}

// QuestionState says how a question was settled.
type QuestionState string

// The ends of a question.
const (
	QuestionAnswered  QuestionState = "answered"
	QuestionExpired   QuestionState = "expired"
	QuestionWithdrawn QuestionState = "withdrawn" // its asker has left
	QuestionCovered   QuestionState = "covered"   // a rule allows it now
)

// Resolution is the end of a question. Answer is set only if it was answered.
type Resolution struct {
	State  QuestionState
	Answer Answer
	By     string // who answered
}

// Reply is what became of a question of a member that is no agent.
type Reply struct {
	ID     string        `json:"id"`     // of the question
	State  QuestionState `json:"state"`  // "" while it waits
	Answer Answer        `json:"answer"` // if it was answered
}
