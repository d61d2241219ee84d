package ask

import (
	"fmt"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/event"
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

// UnknownError reports a question that is not there, or no longer.
type UnknownError struct {
	ID   string
	Open []string // ids of the open questions
}

func (e *UnknownError) Error() string {
	if len(e.Open) == 0 {
		return fmt.Sprintf("there is no open question %q; nobody asks anything now", e.ID)
	}
	return fmt.Sprintf("there is no open question %q; open are: %s", e.ID, strings.Join(e.Open, ", "))
}

// SettledError reports an answer that came too late.
type SettledError struct {
	ID    string
	State State
}

func (e *SettledError) Error() string {
	return fmt.Sprintf("question %s is settled already (%s); this answer changes nothing", e.ID, e.State)
}

// NotPermittedError reports an answer that a question does not allow.
type NotPermittedError struct {
	ID     string
	Reason string
}

func (e *NotPermittedError) Error() string {
	return fmt.Sprintf("question %s cannot be answered so: %s", e.ID, e.Reason)
}

// check returns why a does not answer q.
func check(q event.Question, a Answer) error {
	refuse := func(format string, args ...any) error {
		return &NotPermittedError{ID: q.ID, Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case a.Always && !a.Allow:
		return refuse("only a permission can be given for always")
	case a.Always && len(q.Rules) == 0:
		return refuse("no rule can allow this call for always (%s); allow it once", q.Reason)
	case q.Kind == event.AsksPermission && a.Answers():
		return refuse("it asks for a permission; allow or deny it, with a note if you like")
	case q.Kind == event.AsksAnswer && a.Allow && !a.Answers():
		return refuse("the answer is empty; pick from what is offered or write a text")
	case len(a.Choices) > len(q.Choices):
		return refuse("it asks %d things and the answer holds %d", len(q.Choices), len(a.Choices))
	}
	for i, picked := range a.Choices {
		if len(picked) > 1 && !q.Choices[i].MultiSelect {
			return refuse("only one answer fits %q", q.Choices[i].Question)
		}
	}
	return nil
}
