package agenthook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/model"
)

// Batched is a call of an answer whose calls all have results.
type Batched struct {
	Name     string          `json:"tool_name"`
	Input    json.RawMessage `json:"tool_input"`
	ID       string          `json:"tool_use_id"`
	Response string          `json:"tool_response"`
}

// PostToolBatch runs the hooks after all calls of an answer.
func (h *Hooks) PostToolBatch(ctx context.Context, a agent.Spec, calls []Batched) Effect {
	return h.effect(a, h.run(ctx, a, occurrence{event: "PostToolBatch", fields: map[string]any{"tool_calls": calls}}), false)
}

// StopFailure runs the hooks when a failure of the model ends a turn.
func (h *Hooks) StopFailure(ctx context.Context, a agent.Spec, cause error) {
	kind := failureKind(cause)
	h.run(ctx, a, occurrence{event: "StopFailure", subject: kind, fields: map[string]any{
		"error": kind, "error_details": limited(cause.Error()), "last_assistant_message": limited(cause.Error()),
	}})
}

// failureKind is what hooks call a failure of the model.
func failureKind(cause error) string {
	var e *model.Error
	if !errors.As(cause, &e) {
		return "unknown"
	}
	if e.Status == 404 {
		return "model_not_found"
	}
	kind, ok := map[model.ErrorKind]string{
		model.RateLimited: "rate_limit", model.Overloaded: "overloaded", model.Server: "server_error", model.Network: "server_error",
		model.Truncated: "server_error", model.TooLong: "invalid_request", model.Invalid: "invalid_request",
		model.Auth: "authentication_failed", model.Spend: "billing_error",
	}[e.Kind]
	if !ok {
		return "unknown"
	}
	return kind
}

// Task is a task of a shared list.
type Task struct{ ID, Subject, Description string }

// TaskCreated runs the hooks when an agent has put a task on a list of a team. The error
// wraps ErrBlocked if the task is not to be.
func (h *Hooks) TaskCreated(ctx context.Context, a agent.Spec, team string, t Task) error {
	e := h.effect(a, h.run(ctx, a, taskEvent("TaskCreated", a, team, t)), false)
	if e.Blocked {
		return fmt.Errorf("the task was not created: %w: %s", ErrBlocked, e.Reason)
	}
	return context.Cause(ctx)
}

// TaskCompleted runs the hooks before an agent completes a task. The error wraps ErrBlocked
// if the task is not done.
func (h *Hooks) TaskCompleted(ctx context.Context, a agent.Spec, team string, t Task) error {
	e := h.effect(a, h.run(ctx, a, taskEvent("TaskCompleted", a, team, t)), false)
	if e.Blocked || e.Stop != "" {
		return fmt.Errorf("the task was not completed: %w: %s", ErrBlocked, e.Reason+e.Stop)
	}
	return context.Cause(ctx)
}

func taskEvent(name string, a agent.Spec, team string, t Task) occurrence {
	fields := map[string]any{"task_id": t.ID, "task_subject": t.Subject, "task_description": t.Description, "team_name": team}
	if a.Role == agent.Teammate {
		fields["teammate_name"] = a.Name
	}
	return occurrence{event: name, fields: fields}
}

// Instructions is a file of instructions in the prompt of agents.
type Instructions struct{ Path, Kind string }

// InstructionsLoaded runs the hooks for a file of instructions at the start of a session.
func (h *Hooks) InstructionsLoaded(ctx context.Context, a agent.Spec, f Instructions) {
	h.run(ctx, a, occurrence{event: "InstructionsLoaded", subject: "session_start", fields: map[string]any{
		"file_path": f.Path, "memory_type": f.Kind, "load_reason": "session_start",
	}})
}

// PreModelSwitch runs the hooks before an agent gets another model. The error wraps
// ErrBlocked if it does not; a hook that times out blocks.
func (h *Hooks) PreModelSwitch(ctx context.Context, a agent.Spec, to string) error {
	out := h.run(ctx, a, occurrence{event: "PreModelSwitch", subject: to, fields: map[string]any{"from_model": a.Model, "to_model": to}})
	d := h.decide(a, out)
	for _, o := range out {
		if timedOut(o) {
			d.Behavior, d.Reason = Deny, o.Failure().Error()
		}
	}
	if d.Behavior >= Ask {
		return fmt.Errorf("the model stays %s: %w: %s", a.Model, ErrBlocked, d.Reason)
	}
	return context.Cause(ctx)
}

// PostModelSwitch runs the hooks after an agent has got another model.
func (h *Hooks) PostModelSwitch(ctx context.Context, a agent.Spec, from string) {
	out := h.run(ctx, a, occurrence{event: "PostModelSwitch", subject: a.Model, fields: map[string]any{"from_model": from, "to_model": a.Model}})
	h.keepLate(a, h.contexts(a, out, true))
}

// CwdChanged runs the hooks after the shell of an agent has another working directory.
func (h *Hooks) CwdChanged(ctx context.Context, a agent.Spec, from, to string) {
	h.run(ctx, a, occurrence{event: "CwdChanged", fields: map[string]any{"old_cwd": from, "new_cwd": to}})
}

// FileChanged runs the hooks after a watched file has changed; what is change, add or
// unlink.
func (h *Hooks) FileChanged(ctx context.Context, a agent.Spec, path, what string) {
	h.run(ctx, a, occurrence{event: "FileChanged", subject: path, fields: map[string]any{"file_path": path, "event": what}})
}

// ConfigChange runs the hooks before a changed settings file is taken up. It reports why it
// is not to be, or "".
func (h *Hooks) ConfigChange(ctx context.Context, a agent.Spec, source, path string) (why string) {
	e := h.effect(a, h.run(ctx, a, occurrence{event: "ConfigChange", subject: source, fields: map[string]any{"source": source, "file_path": path}}), false)
	return e.Reason + e.Stop
}
