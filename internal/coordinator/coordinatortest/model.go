package coordinatortest

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/model/modeltest"
	"github.com/actorswarm/swarm/tool"
)

// Answers holds the answers of the model by an agent's name or type. step
// counts the answers that the request already holds, so that an agent that was
// was interrupted continues there. A nil answer is a request that was cancelled.
type Answers map[string]func(ctx context.Context, step int, r *model.Request) *model.Answer

// By is a model that answers each agent with a function of its own. It keeps no
// requests.
func By(answers Answers) model.Model {
	return modeltest.Turn(func(ctx context.Context, r *model.Request) (*model.Answer, error) {
		say := answers[r.Caller.Agent]
		if say == nil {
			say = answers[r.Caller.Type]
		}
		if say == nil {
			return nil, fmt.Errorf("no answer for %+v", r.Caller)
		}
		a := say(ctx, stepOf(r), r)
		if a == nil {
			return nil, model.Cancelled(ctx)
		}
		return a, nil
	})
}

func stepOf(r *model.Request) int {
	n := 0
	for _, m := range r.Messages {
		if m.Role() == model.RoleAssistant {
			n++
		}
	}
	return n
}

// Say is an answer that ends the turn.
func Say(text string) *model.Answer { return modeltest.Answer(model.Text(text)) }

// Use is an answer that calls tools.
func Use(calls ...model.Block) *model.Answer { return modeltest.Answer(calls...) }

// Spawn is a call of the Agent tool.
func Spawn(id string, input map[string]any) model.Block { return Call(id, "Agent", input) }

// Call is a call of any tool.
func Call(id, name string, input map[string]any) model.Block {
	raw, err := json.Marshal(input)
	if err != nil {
		panic(err) // a mistake in the test
	}
	return model.ToolUse(id, name, raw)
}

// Unit is a tool made of a function.
type Unit struct {
	Is tool.Spec
	Do func(context.Context, tool.Call) (tool.Result, error)
}

// Spec returns u.Is.
func (u Unit) Spec() tool.Spec { return u.Is }

// Run calls u.Do.
func (u Unit) Run(ctx context.Context, c tool.Call) (tool.Result, error) { return u.Do(ctx, c) }
