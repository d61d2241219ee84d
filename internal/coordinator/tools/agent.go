package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/internal/coordinator/report"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/tool"
)

// Spawner starts agents for the caller.
type Spawner interface {
	// Types returns the agent types that a call may name.
	Types() []defs.Definition
	// Made returns the agent that a call has started or woken, if it has. It gives
	// that agent its task if a crash came before that.
	Made(callID, task string) (s agent.Spec, ok bool, err error)
	// Start starts the agent that a call describes, or wakes the one that it resumes.
	Start(ctx context.Context, callID string, call spawn.Call) (agent.Spec, error)
	// Await waits until a foreground agent has ended, or continues in the background:
	// then moved is true. The error is a *StuckError for an agent that was stopped
	// with the call and did not end in time.
	Await(ctx context.Context, id mailbox.AgentID) (r agent.Record, moved bool, err error)
	// Team returns the name of the team in which an agent works.
	Team(s agent.Spec) string
	// Transcript returns the file with an agent's transcript, and whether the caller
	// can read files.
	Transcript(id mailbox.AgentID) (path string, canRead bool)
}

// StuckError reports an agent that does not stop.
type StuckError struct {
	ID  mailbox.AgentID
	Err error
}

func (e *StuckError) Error() string {
	return fmt.Sprintf("the agent %s did not stop in time: %v", e.ID, e.Err)
}
func (e *StuckError) Unwrap() error { return e.Err }

// Agent is the Agent tool: it starts other agents.
type Agent struct {
	spawner   Spawner
	perAnswer int
}

// NewAgent returns the Agent tool of an agent, of which one answer makes so many calls; no
// limit if that is negative.
func NewAgent(s Spawner, perAnswer int) *Agent { return &Agent{s, max(perAnswer, 0)} }

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

// Spec describes the tool with the types that a call may name.
func (a *Agent) Spec() tool.Spec {
	return tool.Spec{
		Name:    agentName,
		Aliases: []string{"Task"},
		Description: "Starts another agent on a task of its own and returns its final report. Several calls in one answer run side by side. " +
			"With a name it becomes a teammate: it goes on after its first task, and you write to it with SendMessage.\nTypes:\n" +
			defs.AgentToolDescription(a.spawner.Types()) + forkDescription,
		Schema:   json.RawMessage(agentSchema),
		Parallel: true, PerAnswer: a.perAnswer,
		Recorded: true,
	}
}

// Run starts the agent, or finds the one that this call started before a
// crash, and waits for it if it is in the foreground.
func (a *Agent) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	var call spawn.Call
	if bad, ok := tool.Decode(c, &call); !ok {
		return bad, nil
	}
	spec, known, err := a.spawner.Made(c.ID, call.Prompt)
	if err != nil {
		return tool.Result{}, err
	}
	if !known {
		if spec, err = a.spawner.Start(ctx, c.ID, call); err != nil {
			if ctx.Err() != nil {
				return tool.Errorf("not started: %v", context.Cause(ctx)), nil
			}
			return report.Refused(err), nil
		}
	}
	switch spec.Role {
	case agent.Teammate:
		return report.Spawned(spec, a.spawner.Team(spec)), nil
	case agent.Background:
		return a.launched(spec, call.Prompt), nil
	}
	return a.await(ctx, spec.ID, call.Prompt)
}

func (a *Agent) launched(s agent.Spec, prompt string) tool.Result {
	path, canRead := a.spawner.Transcript(s.ID)
	return report.Launched(s, prompt, path, canRead)
}

func (a *Agent) await(ctx context.Context, id mailbox.AgentID, prompt string) (tool.Result, error) {
	r, moved, err := a.spawner.Await(ctx, id)
	var stuck *StuckError
	switch {
	case errors.As(err, &stuck):
		return tool.Errorf("%v", stuck), nil
	case err != nil:
		return tool.Result{}, err
	case moved:
		return a.launched(r.Spec, prompt), nil
	}
	return report.Completed(r, prompt), nil
}
