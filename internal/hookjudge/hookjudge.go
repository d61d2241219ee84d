// Package hookjudge answers the questions of hooks of type prompt and agent with a model:
// the first by one request, the second by an agent that reads files before it answers.
//
//	j := hookjudge.New(hookjudge.Options{Model: models.Find, Name: name, Admit: admit, Tools: tools})
//	answer, err := j.Judge(ctx, spec, hook.Question{Prompt: "Are all tests run?"})
//
// Laws:
//
//   - A prompt is one request without tools (TestAPromptIsOneRequest).
//   - An agent has tools that read, each call is decided by the rules of the agent whose
//     event it is, and there are at most 50 requests (TestAnAgentReadsAndAnswers,
//     TestAnAgentEnds).
//   - Each request is admitted by the budgets of that agent, and charged to it
//     (TestRequestsAreCharged).
package hookjudge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/hook"
	"github.com/actorswarm/swarm/internal/sandbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
)

const (
	// maxSteps is how many requests an agent may make.
	maxSteps = 50
	// maxTokens is the most that one answer may hold.
	maxTokens = 8_000
	// maxResult is how much of a tool's result a request carries, in bytes.
	maxResult = 40_000
)

// Options configure New. All but Admit are required.
type Options struct {
	// Model returns the model of a name and its exact id.
	Model func(name string) (model.Model, string, error)
	// Name returns the name of the model for questions that name none.
	Name func(a agent.Spec) string
	// Admit is called before a request is sent and may lower its MaxTokens. charge is
	// called once, with the answer, or nil if none came. It may be nil.
	Admit func(ctx context.Context, a agent.Spec, req *model.Request) (charge func(*model.Answer), err error)
	// Tools returns the tools with which an agent answers, each of which decides about its
	// own calls, and the function that closes them.
	Tools func(a agent.Spec) (tools *tool.Set, closeTools func() error)
}

// Judge answers questions. Its methods may be called from any goroutine.
type Judge struct{ o Options }

// New returns a Judge.
func New(o Options) *Judge { return &Judge{o} }

// Judge answers a question about an event of an agent.
func (j *Judge) Judge(ctx context.Context, a agent.Spec, q hook.Question) (answer string, err error) {
	m, id, err := j.o.Model(cmp.Or(q.Model, j.o.Name(a)))
	if err != nil {
		return "", err
	}
	c := conversation{model: m, admit: j.o.Admit, about: a, req: model.Request{
		Model: id, MaxTokens: maxTokens, Messages: []model.Message{model.UserMessage(model.Text(q.Prompt))},
		System: []json.RawMessage{model.EncodeSystem(hook.Instruction)},
		Caller: model.Caller{AgentID: string(a.ID), Agent: "hook", Type: "hook"},
	}}
	if !q.Agent {
		last, err := c.ask(ctx)
		if err != nil {
			return "", err
		}
		return last.Text(), nil
	}
	set, closeTools := j.o.Tools(a)
	defer func() { err = errors.Join(err, closeTools()) }()
	for _, t := range set.All() {
		s := t.Spec()
		c.req.Tools = append(c.req.Tools, model.EncodeTool(s.Name, s.Description, s.Schema))
	}
	return c.run(ctx, set)
}

// Ask makes one request, without tools, with the model of a name, or with that for
// questions if name is "". It sets the request's Model.
func (j *Judge) Ask(ctx context.Context, a agent.Spec, name string, req model.Request) (*model.Answer, error) {
	m, id, err := j.o.Model(cmp.Or(name, j.o.Name(a)))
	if err != nil {
		return nil, err
	}
	req.Model = id
	c := conversation{model: m, admit: j.o.Admit, about: a, req: req}
	return c.ask(ctx)
}

// conversation is what a question came to so far.
type conversation struct {
	model model.Model
	admit func(context.Context, agent.Spec, *model.Request) (func(*model.Answer), error)
	about agent.Spec
	req   model.Request
}

// run lets the model use tools until it answers without a call.
func (c *conversation) run(ctx context.Context, set *tool.Set) (string, error) {
	for range maxSteps {
		last, err := c.ask(ctx)
		if err != nil {
			return "", err
		}
		calls := last.Calls()
		if len(calls) == 0 {
			return last.Text(), nil
		}
		var results []model.Block
		for _, call := range calls {
			block, err := use(ctx, set, call)
			if err != nil {
				return "", err
			}
			results = append(results, block)
		}
		c.req.Messages = append(c.req.Messages, last.Message, model.UserMessage(results...))
		c.req.Caller.Step++
	}
	return "", fmt.Errorf("the agent of a hook did not answer within %d requests", maxSteps)
}

// use runs one call of a tool.
func use(ctx context.Context, set *tool.Set, c model.Call) (model.Block, error) {
	unit, ok := set.Lookup(c.Name)
	result := set.Unknown(c.Name)
	if ok {
		var err error
		if result, err = unit.Run(ctx, tool.Call{ID: c.ID, Name: c.Name, Input: c.Input, Profile: string(sandbox.Inspect)}); err != nil {
			return model.Block{}, err
		}
	}
	text := result.Text
	if len(text) > maxResult {
		text = text[:maxResult] + "\n(the rest is left out)"
	}
	return model.ToolResult(c.ID, cmp.Or(text, "(no output)"), result.IsError), nil
}

var errNoAnswer = errors.New("the model's stream ended without an answer")

// ask makes one request.
func (c *conversation) ask(ctx context.Context) (answer *model.Answer, err error) {
	req := c.req
	if c.admit != nil {
		charge, err := c.admit(ctx, c.about, &req)
		if err != nil {
			return nil, err
		}
		defer func() { charge(answer) }()
	}
	for e, err := range c.model.Stream(ctx, &req) {
		if err != nil {
			return nil, err
		}
		if e.Kind == model.Finished {
			return e.Answer, nil
		}
	}
	return nil, errNoAnswer
}
