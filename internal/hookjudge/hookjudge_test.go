package hookjudge

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/hook"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/model/modeltest"
	"github.com/actorswarm/swarm/tool"
)

// answers is a model that gives its answers in order, and then the last one again.
type answers struct {
	all      []*model.Answer
	requests []model.Request
}

func (a *answers) Stream(_ context.Context, r *model.Request) iter.Seq2[model.Event, error] {
	a.requests = append(a.requests, *r)
	answer := a.all[min(len(a.requests), len(a.all))-1]
	return func(yield func(model.Event, error) bool) {
		yield(model.Event{Kind: model.Finished, Answer: answer}, nil)
	}
}

type reader struct{ read []string }

func (*reader) Spec() tool.Spec { return tool.Spec{Name: "Read", ReadOnly: true} }

func (r *reader) Run(_ context.Context, c tool.Call) (tool.Result, error) {
	r.read = append(r.read, string(c.Input))
	return tool.Result{Text: strings.Repeat("x", maxResult+1)}, nil
}

// ask asks a model with a reader.
func ask(t *testing.T, m *answers, r *reader, q hook.Question, admit func(context.Context, agent.Spec, *model.Request) (func(*model.Answer), error)) (string, error) {
	t.Helper()
	closed := false
	j := New(Options{
		Model: func(name string) (model.Model, string, error) { return m, "exact " + name, nil },
		Name:  func(agent.Spec) string { return "fast" }, Admit: admit,
		Tools: func(agent.Spec) (*tool.Set, func() error) {
			return tool.NewSet(r), func() error { closed = true; return nil }
		},
	})
	text, err := j.Judge(t.Context(), agent.Spec{ID: "a"}, q)
	if q.Agent && !closed {
		t.Error("the tools were not closed")
	}
	return text, err
}

func say(text string) *model.Answer { return modeltest.Answer(model.Text(text)) }

func read(id string) *model.Answer {
	return modeltest.Answer(model.ToolUse(id, "Read", json.RawMessage(`{"file_path":"a"}`)))
}

func TestAPromptIsOneRequest(t *testing.T) {
	m := &answers{all: []*model.Answer{say(`{"ok": true}`)}}
	text, err := ask(t, m, &reader{}, hook.Question{Prompt: "is it?"}, nil)
	if text != `{"ok": true}` || err != nil || len(m.requests) != 1 {
		t.Fatalf("%q, %v, %d requests", text, err, len(m.requests))
	}
	r := m.requests[0]
	if r.Model != "exact fast" || len(r.Tools) > 0 || r.Messages[0].Text() != "is it?" || len(r.System) != 1 {
		t.Errorf("asked %+v", r)
	}
}

func TestAnAgentReadsAndAnswers(t *testing.T) {
	m, r := &answers{all: []*model.Answer{read("1"), say("yes")}}, &reader{}
	text, err := ask(t, m, r, hook.Question{Agent: true, Model: "big", Prompt: "is it?"}, nil)
	if text != "yes" || err != nil || len(r.read) != 1 || len(m.requests) != 2 {
		t.Fatalf("%q, %v, read %q, %d requests", text, err, r.read, len(m.requests))
	}
	last := m.requests[1]
	if last.Model != "exact big" || len(last.Tools) != 1 || len(last.Messages) != 3 || len(last.Messages[2].Raw()) > maxResult+500 {
		t.Errorf("the second request is %d messages, %d tools", len(last.Messages), len(last.Tools))
	}
}

func TestAnAgentEnds(t *testing.T) {
	m := &answers{all: []*model.Answer{read("1")}}
	if _, err := ask(t, m, &reader{}, hook.Question{Agent: true}, nil); err == nil || len(m.requests) != maxSteps {
		t.Errorf("%d requests, %v", len(m.requests), err)
	}
}

func TestRequestsAreCharged(t *testing.T) {
	m := &answers{all: []*model.Answer{read("1"), say("yes")}}
	charged := 0
	_, err := ask(t, m, &reader{}, hook.Question{Agent: true}, func(_ context.Context, a agent.Spec, r *model.Request) (func(*model.Answer), error) {
		r.MaxTokens = 7
		return func(answer *model.Answer) {
			if answer != nil && a.ID == "a" {
				charged++
			}
		}, nil
	})
	if err != nil || charged != 2 || m.requests[0].MaxTokens != 7 {
		t.Errorf("charged %d, %v", charged, err)
	}
	over := errors.New("over budget")
	_, err = ask(t, m, &reader{}, hook.Question{}, func(context.Context, agent.Spec, *model.Request) (func(*model.Answer), error) { return nil, over })
	if !errors.Is(err, over) || len(m.requests) != 2 {
		t.Errorf("%d requests, %v", len(m.requests), err)
	}
}
