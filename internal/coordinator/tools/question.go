package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/report"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/tool"
)

// Asker asks the user for the caller.
type Asker interface {
	// Attended reports whether the user can be asked at all.
	Attended() bool
	// Ask asks the user about a call and returns how the question was resolved.
	Ask(ctx context.Context, c tool.Call, p Prompt) (transcript.Consent, error)
	// Consent returns how a question about a call was resolved, if it was.
	Consent(callID string) (transcript.Consent, error)
}

// Prompt is what a tool asks the user about its own call.
type Prompt struct {
	Kind    event.QuestionKind
	State   string // the state of the caller while it waits
	Summary string
	Reason  string
	Choices []event.Choice
	Allows  func(event.Answer) bool // whether an answer counts as consent
}

// Question is the AskUserQuestion tool: it asks the user and waits.
type Question struct{ asker Asker }

// NewQuestion returns the AskUserQuestion tool of an agent.
func NewQuestion(a Asker) *Question { return &Question{a} }

// The shape is that of agent-system spec §13.4.
const questionSchema = `{"type":"object","properties":{` +
	`"questions":{"type":"array","minItems":1,"maxItems":4,"items":{"type":"object","properties":{` +
	`"question":{"type":"string","description":"The whole question, as the user reads it"},` +
	`"header":{"type":"string","description":"One or two words for it, at most 12 characters"},` +
	`"options":{"type":"array","minItems":2,"maxItems":4,"items":{"type":"object","properties":{` +
	`"label":{"type":"string","description":"The answer in one to five words"},` +
	`"description":{"type":"string","description":"What choosing it means"}},"required":["label","description"]}},` +
	`"multiSelect":{"type":"boolean","description":"Several options may be chosen together"}` +
	`},"required":["question","header","options","multiSelect"]}}},"required":["questions"]}`

// Spec describes the tool.
func (q *Question) Spec() tool.Spec {
	return tool.Spec{
		Name: QuestionName,
		Description: "Asks the user one to four questions with answers to choose from, and waits. The user may also answer in words of their own. " +
			"Ask when a decision is the user's and the task cannot go on without it; not for permission to use a tool, which is asked for by itself.",
		Schema:   json.RawMessage(questionSchema),
		Parallel: true,
		Recorded: true, // question and answer are records; after a crash it is asked again
	}
}

type questionInput struct {
	Questions []event.Choice `json:"questions"`
}

// Run asks, unless the answer is recorded already.
func (q *Question) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	var in questionInput
	if bad, ok := tool.Decode(c, &in); !ok {
		return bad, nil
	}
	if err := checkChoices(in.Questions); err != nil {
		return tool.Errorf("%v", err), nil
	}
	consent, err := q.asker.Consent(c.ID)
	switch {
	case err != nil:
		return tool.Result{}, err
	case !consent.Decided() && !q.asker.Attended():
		return tool.Errorf("unattended: nobody can be asked here. Decide yourself what fits the task best, go on, and say in your answer what you assumed."), nil
	case !consent.Decided():
		if consent, err = q.asker.Ask(ctx, c, promptOf(in.Questions)); err != nil {
			return tool.Result{}, err
		}
	}
	return answerResult(in.Questions, consent), nil
}

func promptOf(choices []event.Choice) Prompt {
	return Prompt{
		Kind: event.AsksAnswer, State: state.WaitsForAnswer, Choices: choices,
		Summary: report.Cut(report.OneLine(choices[0].Question), 200), Allows: event.Answer.IsAnswer,
	}
}

func checkChoices(all []event.Choice) error {
	if len(all) < 1 || len(all) > 4 {
		return fmt.Errorf("questions holds %d; ask one to four at a time", len(all))
	}
	for i, c := range all {
		if strings.TrimSpace(c.Question) == "" {
			return fmt.Errorf("question %d is empty; write what the user is to decide", i+1)
		}
		if len(c.Options) < 2 || len(c.Options) > 4 {
			return fmt.Errorf("question %d offers %d options; offer two to four", i+1, len(c.Options))
		}
	}
	return nil
}

// answerResult is what the model sees of a question that was resolved.
func answerResult(asked []event.Choice, c transcript.Consent) tool.Result {
	switch c.State {
	case transcript.ConsentExpired:
		return tool.Errorf("%s. Decide yourself what fits the task best, go on, and say in your answer what you assumed.", report.Expired(c))
	case transcript.ConsentDenied:
		return tool.Errorf("declined by the %s%s", c.By, colon(c.Note))
	}
	var a event.Answer
	if err := json.Unmarshal(c.Answer, &a); err != nil {
		return tool.Errorf("the answer of the %s cannot be read: %v", c.By, err)
	}
	answers := map[string]string{}
	var lines []string
	for i, picked := range a.Choices {
		if len(picked) > 0 {
			answers[asked[i].Question] = strings.Join(picked, ", ")
			lines = append(lines, fmt.Sprintf("%s\n  %s", asked[i].Question, strings.Join(picked, ", ")))
		}
	}
	if a.Text != "" {
		lines = append(lines, a.Text)
	}
	if c.Note != "" {
		lines = append(lines, "Note: "+c.Note)
	}
	return tool.Result{
		Text:   "The user answered:\n" + strings.Join(lines, "\n"),
		Detail: report.Detail(map[string]any{"questions": asked, "answers": answers, "response": a.Text}),
	}
}

func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}
