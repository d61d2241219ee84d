package coordinator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/coordinator/report"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/tool"
)

// agentTool is the Agent tool of one agent: it starts others.
type agentTool struct{ h *host }

const agentSchema = `{"type":"object","properties":{` +
	`"description":{"type":"string","description":"What the agent is to do, in three to five words"},` +
	`"prompt":{"type":"string","description":"The whole task. The agent knows nothing of this conversation"},` +
	`"subagent_type":{"type":"string","description":"One of the types listed; general-purpose when omitted"},` +
	`"model":{"type":"string","description":"A model alias or id, when the type's own does not fit"},` +
	`"effort":{"type":"string","description":"How hard it thinks: low, medium, high, xhigh or max"},` +
	`"run_in_background":{"type":"boolean","description":"Go on without waiting; the report comes as a message"},` +
	`"name":{"type":"string","description":"Makes the agent a teammate that can be written to by this name and works on after its first task"},` +
	`"team_name":{"type":"string","description":"A team that you lead; yours when left out"},` +
	`"mode":{"type":"string","enum":["default","acceptEdits","plan","dontAsk","bypassPermissions"],"description":"A narrower permission mode than yours; it is never widened"},` +
	`"isolation":{"type":"string","enum":["worktree"],"description":"worktree gives it a checkout of its own, from your HEAD; work it leaves there is kept and reported"},` +
	`"cwd":{"type":"string","description":"The directory it works in, below yours"},` +
	`"resume":{"type":"string","description":"Name or id of an agent that has ended: it goes on with this prompt, with all it knew, as it was: of the other fields only description and run_in_background go with it"},` +
	`"on_parent_end":{"type":"string","enum":["re-parent","continue","stop"],"description":"What becomes of a background agent if you are ended before it: it reports to the nearest above (the default), it wakes you with its report, or it is stopped"},` +
	`"max_turns":{"type":"integer","minimum":1,"description":"The most model requests it may make"}` +
	`},"required":["description","prompt"]}`

func (a *agentTool) Spec() tool.Spec {
	return tool.Spec{
		Name:    "Agent",
		Aliases: []string{"Task"},
		Description: "Starts another agent on a task of its own and returns its final report. Several calls in one answer run side by side. " +
			"With a name it becomes a teammate: it goes on after its first task, and you write to it with SendMessage.\nTypes:\n" +
			defs.AgentToolDescription(a.h.c.opts.Definitions().Active) + forkDescription,
		Schema:   json.RawMessage(agentSchema),
		Parallel: true,
		Recorded: true,
	}
}

// Run starts the agent, or finds the one that this very call started before a
// crash, and waits for it if it is in the foreground.
func (a *agentTool) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	var call spawn.Call
	if bad, ok := tool.Decode(c, &call); !ok {
		return bad, nil
	}
	id, known := a.h.c.MadeBy(a.h.t.ID(), a.h.t.Life().Steps, c.ID)
	if !known {
		var err error
		if id, err = a.start(ctx, c.ID, call); err != nil {
			if ctx.Err() != nil {
				return tool.Errorf("not started: %v", context.Cause(ctx)), nil
			}
			return report.Refused(err), nil
		}
	}
	t, ok := a.h.c.opts.Store.Get(id)
	if !ok {
		return tool.Result{}, fmt.Errorf("agent %s vanished from the transcripts", id)
	}
	if known {
		if err := a.h.c.finishBirth(a.h.t, t, c.ID, call.Prompt); err != nil {
			return tool.Result{}, err
		}
	}
	switch spec := t.Spec(); spec.Role {
	case agent.Teammate:
		return report.Spawned(spec, a.h.c.Home(spec).Name), nil
	case agent.Background:
		return a.launched(spec, call.Prompt), nil
	}
	return a.await(ctx, t, call.Prompt)
}

func (a *agentTool) launched(s agent.Spec, prompt string) tool.Result {
	tools := a.h.t.Spec().Tools
	canRead := slices.Contains(tools, "Read") || slices.Contains(tools, "Bash")
	return report.Launched(s, prompt, a.h.c.opts.Store.TranscriptPath(s.ID), canRead)
}

// start makes the agent that a call asks for, or wakes the one that it names.
func (a *agentTool) start(ctx context.Context, callID string, call spawn.Call) (mailbox.AgentID, error) {
	if call.Resume != "" {
		return a.resume(ctx, callID, call)
	}
	return a.spawn(ctx, callID, call)
}

func (a *agentTool) spawn(ctx context.Context, callID string, call spawn.Call) (mailbox.AgentID, error) {
	c := a.h.c
	spec, def, err := c.plan(ctx, a.h.t.Spec(), call)
	if err != nil {
		return "", err
	}
	spec.Call, spec.Answer = callID, a.h.t.Life().Steps
	if spec.Isolation != "" {
		done, err := c.isolate(&spec)
		if err != nil {
			return "", err
		}
		defer done()
	}
	if spec.Fork {
		err = c.fork(c.scope, a.h.t, spec, call.Prompt)
	} else {
		scope := c.scope
		if spec.Where != "" {
			scope = ctx // nothing here lives in it; who asks may give up the wait
		}
		c.planned.put(spec.ID, def)
		if _, err = c.Spawn(scope, spec, call.Prompt); err != nil {
			c.definition(spec) // nobody else will ask for it
		}
	}
	return spec.ID, err
}

// plan says what the agent is that a call of parent makes, and waits until it
// may be made.
func (c *Coordinator) plan(ctx context.Context, parent agent.Spec, call spawn.Call) (agent.Spec, defs.Definition, error) {
	plan, err := c.opts.Policy.Plan(c.opts.Definitions(), call, parent, c.ToolNames())
	if err != nil {
		return plan.Spec, plan.Definition, err
	}
	if err := c.opts.Policy.CheckDir(plan.Spec.Dir, parent.Dir); err != nil {
		return plan.Spec, plan.Definition, err
	}
	if err := c.admitSpawn(ctx, plan.Spec); err != nil {
		return plan.Spec, plan.Definition, err
	}
	plan.Spec.ID, plan.Spec.Born = c.NewID(cmp.Or(plan.Spec.Name, plan.Spec.Type)), time.Now()
	return plan.Spec, plan.Definition, nil
}

// await waits for a foreground child, or until it goes on in the background.
// When the wait is cancelled the child is stopped with the same cause and waited
// for: it does not outlive its call, unless its parent only has something else
// to do first.
func (a *agentTool) await(ctx context.Context, child *transcript.Transcript, prompt string) (tool.Result, error) {
	c := a.h.c
	var life agent.Record
	err := a.h.waitForChild(ctx, func() (err error) {
		life, err = c.awaitInForeground(ctx, child)
		return err
	})
	switch {
	case errors.Is(err, errMoved):
		return a.launched(child.Spec(), prompt), nil
	case err == nil:
		return report.Completed(life, prompt), nil
	}
	cause := context.Cause(ctx)
	if cause == nil {
		return tool.Result{}, err
	}
	switch {
	case errors.Is(cause, turn.ErrShutdown):
		return tool.Result{}, cause // the child's turn stays open like ours
	case errors.Is(cause, turn.ErrPreempted):
		return a.leave(child, prompt)
	}
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := c.Stop(wait, child.ID(), turn.StoppedWith(agent.DisplayName(a.h.t.Spec()), cause)); err != nil {
		return tool.Errorf("the agent %s did not stop in time: %v", child.ID(), err), nil
	}
	return report.Completed(child.Life(), prompt), nil
}

// leave lets a child that was waited for go on in the background.
func (a *agentTool) leave(child *transcript.Transcript, prompt string) (tool.Result, error) {
	switch err := child.MoveTo(agent.Background); {
	case errors.Is(err, transcript.ErrTurnEnded):
		life, err := a.h.c.Await(a.h.turnContext, child.ID()) // it was faster
		return report.Completed(life, prompt), err
	case err != nil:
		return tool.Result{}, err
	}
	return a.launched(child.Spec(), prompt), nil
}
