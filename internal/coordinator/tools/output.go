package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/report"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/tool"
)

// Reader reads the results of agents for the caller.
type Reader interface {
	// Spec describes the caller.
	Spec() agent.Spec
	// Tools returns the caller's tools.
	Tools() []tool.Tool
	// Find returns the agent that a name or id means.
	Find(name string) (agent.Spec, bool)
	// Unknown returns the error about a name that no agent has.
	Unknown(name string) error
	// IsBelow reports whether an agent works for the caller, or for one that does.
	IsBelow(id mailbox.AgentID) bool
	// Result returns the record of an agent, and whether the agent is at work.
	Result(id mailbox.AgentID) (r agent.Record, working bool)
	// AwaitRest returns when an agent has nothing to do, when the time is over, or
	// when ctx ends.
	AwaitRest(ctx context.Context, id mailbox.AgentID, within time.Duration)
}

// Output is the TaskOutput tool: it returns the last text of another agent, or what a
// background command has printed.
type Output struct{ reader Reader }

// NewOutput returns the TaskOutput tool of an agent.
func NewOutput(r Reader) *Output { return &Output{r} }

const outputSchema = `{"type":"object","properties":{` +
	`"task_id":{"type":"string","description":"Name or id of the agent, or id of the background command"},` +
	`"block":{"type":"boolean","description":"Wait for its end; true when omitted"},` +
	`"timeout":{"type":"integer","minimum":0,"maximum":600000,"description":"The longest wait in milliseconds; 30000 when omitted"},` +
	`"offset":{"type":"integer","minimum":0,"description":"The byte of a long result to begin with"}` +
	`},"required":["task_id"]}`

// Spec describes the tool.
func (o *Output) Spec() tool.Spec {
	return tool.Spec{
		Name:    outputName,
		Aliases: []string{"AgentOutputTool", "BashOutput"},
		Description: "Gives the last result of an agent of yours, from any byte on, or the output of a background command, and says whether it is still at work. " +
			"Ends are told to you by themselves: use it for what a message has cut, or when you cannot go on without a result.",
		Schema:   json.RawMessage(outputSchema),
		ReadOnly: true,
		Parallel: true,
	}
}

type outputInput struct {
	Task    string `json:"task_id"`
	Agent   string `json:"agentId"` // as in AgentOutputTool
	Shell   string `json:"bash_id"` // as in BashOutput
	Block   *bool  `json:"block"`
	Timeout *int64 `json:"timeout"`
	Offset  int    `json:"offset"`
}

// The longest waits of a call.
const (
	usualOutputWait = 30 * time.Second
	maxOutputWait   = 10 * time.Minute
)

// wait returns how long the call waits for an end.
func (in outputInput) wait() time.Duration {
	switch {
	case in.Block != nil && !*in.Block:
		return 0
	case in.Timeout == nil:
		return usualOutputWait
	}
	return min(max(time.Duration(*in.Timeout)*time.Millisecond, 0), maxOutputWait)
}

// Run returns what the task has so far, after its end if the call waits for it.
func (o *Output) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	var in outputInput
	if bad, ok := tool.Decode(c, &in); !ok {
		return bad, nil
	}
	name := cmp.Or(in.Task, in.Agent, in.Shell)
	if r, ok := o.printed(ctx, name, in.wait()); ok {
		return r, nil
	}
	target, ok := o.reader.Find(name)
	if !ok {
		return tool.Errorf("%v", o.reader.Unknown(name)), nil
	}
	if me := o.reader.Spec(); target.ID == me.ID || me.Role != agent.Lead && !o.reader.IsBelow(target.ID) {
		return tool.Errorf("%s is not an agent of yours: only who started it can read its result", agent.DisplayName(target)), nil
	}
	if in.wait() > 0 {
		o.reader.AwaitRest(ctx, target.ID, in.wait())
	}
	if err := context.Cause(ctx); err != nil {
		return tool.Errorf("not waited for to the end: %v", err), nil
	}
	result, working := o.reader.Result(target.ID)
	return report.Output(result, working, in.Offset), nil
}

// printed returns what a background command of the caller has printed, if it has one
// of that id.
func (o *Output) printed(ctx context.Context, id string, within time.Duration) (tool.Result, bool) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for _, t := range o.reader.Tools() {
		if p, ok := t.(printer); ok {
			if r, known := p.Output(ctx, id); known {
				return r, true
			}
		}
	}
	return tool.Result{}, false
}

// printer is a tool whose calls may go on after their result. Output returns what
// one of them has printed, after its end or when ctx ends; known is false if it
// has none of that id.
type printer interface {
	Output(ctx context.Context, id string) (r tool.Result, known bool)
}
