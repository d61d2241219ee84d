package agenthook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/hook"
)

// Behavior is the decision of hooks about a call.
type Behavior int

// The behaviors, the strictest last. None leaves the decision to the rules.
const (
	None Behavior = iota
	Allow
	Ask
	Deny
)

// Call is a tool call.
type Call struct {
	ID, Name string
	Input    json.RawMessage
	// Covers reports whether a permission rule covers the call; nil covers nothing.
	Covers func(rule string) bool
}

// Decision is the result of the hooks of PreToolUse or PermissionRequest.
type Decision struct {
	Behavior Behavior
	Reason   string          // for the model if it is Deny, for the person if it is Ask
	Input    json.RawMessage // replaces the input of the call, or nil
	Context  []string        // for the model, with the result of the call
	Stop     string          // why the turn is to end; "" if it is not
	// Deferred is set if it is Ask and a hook wants the process to end with the call open
	// where nobody can be asked.
	Deferred bool
	// Updates are changes of permissions that a hook of PermissionRequest asks for.
	Updates []Update
}

// Effect is the result of the hooks of another event.
type Effect struct {
	Blocked bool
	Reason  string   // why, if it is blocked
	Context []string // for the model
	Stop    string   // why the agent is to stop; "" if it is not
	// Output replaces what the model sees of a call's result; nil if it does not.
	Output json.RawMessage
}

// PreToolUse runs the hooks before a call is judged.
func (h *Hooks) PreToolUse(ctx context.Context, a agent.Spec, c Call) Decision {
	d := h.decide(a, h.run(ctx, a, h.toolEvent("PreToolUse", c, nil)))
	d.Context = append(d.Context, h.takeLate(a.ID)...)
	return d
}

// PermissionRequest runs the hooks before a person is asked about a call, or the call is
// denied since nobody can be asked.
func (h *Hooks) PermissionRequest(ctx context.Context, a agent.Spec, c Call) Decision {
	e := h.toolEvent("PermissionRequest", c, nil)
	delete(e.fields, "tool_use_id")
	out := slices.DeleteFunc(h.run(ctx, a, e), ignoredRequest)
	d := h.decide(a, out)
	switch d.Behavior {
	case Ask:
		d.Behavior = None // it is about to be asked
	case Allow:
		h.grant(a, d.Updates)
	}
	return d
}

// PermissionDenied runs the hooks after a model has denied a call in mode auto, with its
// reason. It reports whether one of them lets the agent try again.
func (h *Hooks) PermissionDenied(ctx context.Context, a agent.Spec, c Call, reason string) (retry bool) {
	for _, o := range h.run(ctx, a, h.toolEvent("PermissionDenied", c, map[string]any{"reason": limited(reason)})) {
		var s struct{ Retry json.RawMessage }
		if o.Err == nil && o.Output != nil && json.Unmarshal(o.Output.Specific, &s) == nil && string(s.Retry) == "true" {
			retry = true
		}
	}
	return retry
}

// grant adds the rules that hooks want the session to allow.
func (h *Hooks) grant(a agent.Spec, all []Update) {
	for _, u := range all {
		rules, err := u.Allows()
		switch {
		case err == nil && h.o.Grant == nil:
			err = errors.New("rules of updatedPermissions are added by agents of the owner's process only")
		case err == nil:
			err = h.o.Grant(rules)
		}
		if err != nil {
			h.warnOnce(a, "a PermissionRequest hook: "+err.Error())
		}
	}
}

// Defer ends the process with the turn open at a call of the lead, and reports whether it
// does.
func (h *Hooks) Defer(a agent.Spec, c Call) bool {
	if h.o.Defer == nil || a.Role != agent.Lead {
		return false
	}
	h.o.Defer(a, c)
	return true
}

// PostToolUse runs the hooks after a call that was run: failure is its error, or "".
func (h *Hooks) PostToolUse(ctx context.Context, a agent.Spec, c Call, response any, failure string, took time.Duration) Effect {
	name, fields := "PostToolUse", map[string]any{"tool_response": response, "duration_ms": took.Milliseconds()}
	if failure != "" {
		name, fields = "PostToolUseFailure", map[string]any{"error": limited(failure), "duration_ms": took.Milliseconds()}
	}
	out := h.run(ctx, a, h.toolEvent(name, c, fields))
	effect := h.effect(a, out, false)
	if failure == "" {
		effect.Output = updatedOutput(out)
	}
	return effect
}

// UserPromptSubmit runs the hooks before a prompt of the user reaches an agent.
func (h *Hooks) UserPromptSubmit(ctx context.Context, a agent.Spec, prompt string) Effect {
	e := h.effect(a, h.run(ctx, a, occurrence{event: "UserPromptSubmit", fields: map[string]any{"prompt": prompt}}), true)
	e.Context = append(e.Context, h.takeLate(a.ID)...)
	return e
}

// SessionStart runs the hooks at the start of a session; source is startup or resume.
// What they print reaches the agent with its next prompt or call.
func (h *Hooks) SessionStart(ctx context.Context, a agent.Spec, source string) {
	out := h.run(ctx, a, occurrence{event: "SessionStart", subject: source, fields: map[string]any{"source": source, "model": a.Model}})
	h.keepLate(a, h.contexts(a, out, true))
}

// SessionEnd runs the hooks at the end of a session.
func (h *Hooks) SessionEnd(ctx context.Context, a agent.Spec, reason string) {
	h.run(ctx, a, occurrence{event: "SessionEnd", subject: reason, fields: map[string]any{"reason": reason}})
}

// Stop runs the hooks before an agent ends its turn with an answer: Stop for the lead,
// SubagentStop for all others. again is set if such hooks have kept it going already.
func (h *Hooks) Stop(ctx context.Context, a agent.Spec, text string, again bool) Effect {
	e := occurrence{event: "Stop", fields: map[string]any{
		"stop_hook_active": again, "last_assistant_message": text, "background_tasks": []any{}, "session_crons": []any{},
	}}
	if a.Role != agent.Lead {
		e.event, e.subject = "SubagentStop", a.Type
		e.fields["agent_transcript_path"] = h.transcript(a.ID)
	}
	return h.effect(a, h.run(ctx, a, e), false)
}

// SubagentStart runs the hooks when an agent that is not the lead begins to work.
func (h *Hooks) SubagentStart(ctx context.Context, a agent.Spec) Effect {
	return h.effect(a, h.run(ctx, a, occurrence{event: "SubagentStart", subject: a.Type}), false)
}

// TeammateIdle runs the hooks before a teammate of a team comes to rest.
func (h *Hooks) TeammateIdle(ctx context.Context, a agent.Spec, team string) Effect {
	return h.effect(a, h.run(ctx, a, occurrence{event: "TeammateIdle", fields: map[string]any{"teammate_name": a.Name, "team_name": team}}), false)
}

// PreCompact runs the hooks before a conversation is compacted; trigger is manual or
// auto.
func (h *Hooks) PreCompact(ctx context.Context, a agent.Spec, trigger string) Effect {
	return h.effect(a, h.run(ctx, a, occurrence{event: "PreCompact", subject: trigger, fields: map[string]any{"trigger": trigger, "custom_instructions": ""}}), false)
}

// PostCompact runs the hooks after a conversation was compacted.
func (h *Hooks) PostCompact(ctx context.Context, a agent.Spec, trigger, summary string) {
	h.run(ctx, a, occurrence{event: "PostCompact", subject: trigger, fields: map[string]any{"trigger": trigger, "compact_summary": summary}})
}

// Notification runs the hooks when a person is wanted.
func (h *Hooks) Notification(ctx context.Context, a agent.Spec, kind, message string) {
	h.run(ctx, a, occurrence{event: "Notification", subject: kind, fields: map[string]any{"notification_type": kind, "message": message}})
}

func (h *Hooks) toolEvent(name string, c Call, more map[string]any) occurrence {
	fields := map[string]any{"tool_name": c.Name, "tool_input": c.Input, "tool_use_id": c.ID}
	for k, v := range more {
		fields[k] = v
	}
	if h.o.Server != nil {
		if server, source, ok := h.o.Server(c.Name); ok {
			fields["mcp_server"] = map[string]string{"name": server, "source": source}
		}
	}
	return occurrence{event: name, subject: c.Name, fields: fields, covers: c.Covers}
}

// effect sums outcomes up. plain is set where what hooks print is for the model.
func (h *Hooks) effect(a agent.Spec, all []hook.Outcome, plain bool) (e Effect) {
	e.Context = h.contexts(a, all, plain)
	for _, o := range all {
		why, blocked := o.Blocked()
		switch {
		case blocked && stops(o):
			e.Stop = cmp.Or(e.Stop, limited(why))
		case blocked && !e.Blocked:
			e.Blocked, e.Reason = true, h.cut(a, why)
		}
	}
	return e
}

// stops reports a hook that ends all processing.
func stops(o hook.Outcome) bool {
	return o.Err == nil && o.Code != 2 && o.Output != nil && o.Output.Continue != nil && !*o.Output.Continue
}

// ErrBlocked is the error of what a hook has blocked.
var ErrBlocked = errors.New("blocked by a hook")
