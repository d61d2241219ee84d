package coordinator

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator/report"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/tool"
)

// outputTool is the TaskOutput tool of one agent: it gives what another has said
// last, or what a background command has printed.
type outputTool struct{ h *host }

const outputToolName = "TaskOutput"

const outputSchema = `{"type":"object","properties":{` +
	`"task_id":{"type":"string","description":"Name or id of the agent, or id of the background command"},` +
	`"block":{"type":"boolean","description":"Wait for its end; true when omitted"},` +
	`"timeout":{"type":"integer","minimum":0,"maximum":600000,"description":"The longest wait in milliseconds; 30000 when omitted"},` +
	`"offset":{"type":"integer","minimum":0,"description":"The byte of a long result to begin with"}` +
	`},"required":["task_id"]}`

func (o *outputTool) Spec() tool.Spec {
	return tool.Spec{
		Name:    outputToolName,
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

func (o *outputTool) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	var in outputInput
	if bad, ok := tool.Decode(c, &in); !ok {
		return bad, nil
	}
	name := cmp.Or(in.Task, in.Agent, in.Shell)
	wait, cancel := context.WithTimeout(ctx, in.wait())
	defer cancel()
	for _, t := range o.h.kit.tools.All() {
		if b, ok := t.(printer); ok {
			if r, known := b.Output(wait, name); known {
				return r, nil
			}
		}
	}
	t, ok := o.h.c.Find(name)
	if !ok {
		return tool.Errorf("%v", o.h.c.registry.Unknown(name)), nil
	}
	if me := o.h.t.Spec(); me.Role != agent.Lead && !o.h.c.registry.IsBelow(t.ID(), me.ID) || t.ID() == me.ID {
		return tool.Errorf("%s is not an agent of yours: only who started it can read its result", agent.DisplayName(t.Spec())), nil
	}
	if in.wait() > 0 && o.h.c.atWork(t) {
		// Its end is not the only way out, so neither is an error.
		_ = o.h.waitForChild(ctx, func() error { return o.h.c.whenDone(wait, t) })
	}
	if err := context.Cause(ctx); err != nil {
		return tool.Errorf("not waited for to the end: %v", err), nil
	}
	return report.Output(t.Life(), o.h.c.atWork(t), in.Offset), nil
}

// printer is a tool whose calls may go on after their result. Output returns what
// one of them has printed, after its end or when ctx ends; known is false if it
// has none of that id.
type printer interface {
	Output(ctx context.Context, id string) (r tool.Result, known bool)
}

// whenDone returns when an agent has nothing to do, or when ctx ends.
func (c *Coordinator) whenDone(ctx context.Context, t *transcript.Transcript) error {
	for {
		changed := c.whenChanged()
		if !c.atWork(t) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// atWork reports whether an agent has something to do or waits for one that works
// for it.
func (c *Coordinator) atWork(t *transcript.Transcript) bool {
	h := c.hosts.get(t.ID())
	return t.HasWork() || h != nil && (h.busy() || state.IsResting(t.Life()))
}
