package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/ask"
	"github.com/actorswarm/swarm/internal/coordinator/report"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
)

const questionToolName = "AskUserQuestion"

// questionTool is the AskUserQuestion tool of one agent: it asks a person and
// waits.
type questionTool struct{ h *host }

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

func (q *questionTool) Spec() tool.Spec {
	return tool.Spec{
		Name: questionToolName,
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
func (q *questionTool) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	var in questionInput
	if bad, ok := tool.Decode(c, &in); !ok {
		return bad, nil
	}
	if err := checkChoices(in.Questions); err != nil {
		return tool.Errorf("%v", err), nil
	}
	call := model.Call{ID: c.ID, Name: c.Name, Input: c.Input}
	consent, err := q.h.t.Consent(c.ID)
	switch {
	case err != nil:
		return tool.Result{}, err
	case !consent.Decided() && !q.h.c.opts.Policy.Asks():
		return tool.Errorf("unattended: nobody can be asked here. Decide yourself what fits the task best, go on, and say in your answer what you assumed."), nil
	case !consent.Decided():
		if err := q.ask(ctx, call, in.Questions); err != nil {
			return tool.Result{}, err
		}
		if consent, err = q.h.t.Consent(c.ID); err != nil {
			return tool.Result{}, err
		}
	}
	return answerResult(in.Questions, consent), nil
}

func (q *questionTool) ask(ctx context.Context, c model.Call, choices []event.Choice) error {
	ask := ask.Request{Record: func(s event.Resolution) error {
		state := transcript.ConsentDenied
		if s.Answer.Answers() {
			state = transcript.ConsentAllowed
		}
		return q.h.permits.decide(c, state, s)
	}}
	question := q.h.permits.question(event.AsksAnswer, c)
	question.Choices, question.Summary = choices, report.Cut(report.OneLine(choices[0].Question), 200)
	return q.h.permits.ask(ctx, state.WaitsForAnswer, question, ask, c)
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

// answerResult is what the model sees of a settled question.
func answerResult(asked []event.Choice, c transcript.Consent) tool.Result {
	switch c.State {
	case transcript.ConsentExpired:
		return tool.Errorf("%s. Decide yourself what fits the task best, go on, and say in your answer what you assumed.", expired(c))
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
