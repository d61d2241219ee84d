package agenthook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/hook"
)

// Behavior is what hooks say about a call.
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

// Decision is what the hooks of PreToolUse or PermissionRequest say.
type Decision struct {
	Behavior Behavior
	Reason   string          // for the model if it is Deny, for the person if it is Ask
	Input    json.RawMessage // replaces the input of the call, or nil
	Context  []string        // for the model, with the result of the call
	Stop     string          // why the turn is to end; "" if it is not
}

// Effect is what the hooks of another event say.
type Effect struct {
	Blocked bool
	Reason  string   // why, if it is blocked
	Context []string // for the model
	Stop    string   // why the agent is to stop; "" if it is not
}

// PreToolUse runs the hooks before a call is judged.
func (h *Hooks) PreToolUse(ctx context.Context, a agent.Spec, c Call) Decision {
	d := decide(h.run(ctx, a, h.toolEvent("PreToolUse", c, nil)))
	d.Context = append(d.Context, h.takeLate(a.ID)...)
	return d
}

// PermissionRequest runs the hooks before a person is asked about a call, or the call is
// denied since nobody can be asked.
func (h *Hooks) PermissionRequest(ctx context.Context, a agent.Spec, c Call) Decision {
	e := h.toolEvent("PermissionRequest", c, nil)
	delete(e.fields, "tool_use_id")
	return decide(h.run(ctx, a, e))
}

// PostToolUse runs the hooks after a call that was run: failure is its error, or "".
func (h *Hooks) PostToolUse(ctx context.Context, a agent.Spec, c Call, response any, failure string, took time.Duration) Effect {
	name, fields := "PostToolUse", map[string]any{"tool_response": response, "duration_ms": took.Milliseconds()}
	if failure != "" {
		name, fields = "PostToolUseFailure", map[string]any{"error": limited(failure), "duration_ms": took.Milliseconds()}
	}
	return effect(h.run(ctx, a, h.toolEvent(name, c, fields)), false)
}

// UserPromptSubmit runs the hooks before a prompt of the user reaches an agent.
func (h *Hooks) UserPromptSubmit(ctx context.Context, a agent.Spec, prompt string) Effect {
	e := effect(h.run(ctx, a, occurrence{event: "UserPromptSubmit", fields: map[string]any{"prompt": prompt}}), true)
	e.Context = append(e.Context, h.takeLate(a.ID)...)
	return e
}

// SessionStart runs the hooks at the start of a session; source is startup or resume.
// What they print reaches the agent with its next prompt or call.
func (h *Hooks) SessionStart(ctx context.Context, a agent.Spec, source string) {
	out := h.run(ctx, a, occurrence{event: "SessionStart", subject: source, fields: map[string]any{"source": source, "model": a.Model}})
	texts := contexts(out, true)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(texts) > 0 {
		h.late[a.ID] = append(h.late[a.ID], texts...)
	}
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
	return effect(h.run(ctx, a, e), false)
}

// SubagentStart runs the hooks when an agent that is not the lead begins to work.
func (h *Hooks) SubagentStart(ctx context.Context, a agent.Spec) Effect {
	return effect(h.run(ctx, a, occurrence{event: "SubagentStart", subject: a.Type}), false)
}

// TeammateIdle runs the hooks before a teammate of a team comes to rest.
func (h *Hooks) TeammateIdle(ctx context.Context, a agent.Spec, team string) Effect {
	return effect(h.run(ctx, a, occurrence{event: "TeammateIdle", fields: map[string]any{"teammate_name": a.Name, "team_name": team}}), false)
}

// PreCompact runs the hooks before a conversation is compacted; trigger is manual or
// auto.
func (h *Hooks) PreCompact(ctx context.Context, a agent.Spec, trigger string) Effect {
	return effect(h.run(ctx, a, occurrence{event: "PreCompact", subject: trigger, fields: map[string]any{"trigger": trigger, "custom_instructions": ""}}), false)
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
	return occurrence{event: name, subject: c.Name, fields: fields, covers: c.Covers}
}

// effect sums outcomes up. plain is set where what hooks print is for the model.
func effect(all []hook.Outcome, plain bool) (e Effect) {
	e.Context = contexts(all, plain)
	for _, o := range all {
		why, blocked := o.Blocked()
		switch {
		case blocked && stops(o):
			e.Stop = cmp.Or(e.Stop, limited(why))
		case blocked && !e.Blocked:
			e.Blocked, e.Reason = true, limited(why)
		}
	}
	return e
}

// stops reports a hook that ends all processing.
func stops(o hook.Outcome) bool {
	return o.Err == nil && o.Code != 2 && o.Output != nil && o.Output.Continue != nil && !*o.Output.Continue
}

// decide sums up what hooks say about a call: the strictest wins.
func decide(all []hook.Outcome) (d Decision) {
	d.Context = contexts(all, false)
	for _, o := range all {
		one := decisionOf(o)
		if one.Behavior > d.Behavior {
			d.Behavior, d.Reason = one.Behavior, one.Reason
		}
		if one.Input != nil {
			d.Input = one.Input
		}
		d.Stop = cmp.Or(d.Stop, one.Stop)
	}
	return d
}

// specific is what hooks of PreToolUse and PermissionRequest print.
type specific struct {
	Permission string          `json:"permissionDecision"`
	Reason     string          `json:"permissionDecisionReason"`
	Input      json.RawMessage `json:"updatedInput"`
	Decision   struct {
		Behavior string          `json:"behavior"`
		Message  string          `json:"message"`
		Input    json.RawMessage `json:"updatedInput"`
	} `json:"decision"`
}

func decisionOf(o hook.Outcome) (d Decision) {
	if why, blocked := o.Blocked(); blocked {
		d.Behavior, d.Reason = Deny, limited(cmp.Or(reasonOf(o), why))
		if stops(o) {
			d.Stop = d.Reason
		}
		return d
	}
	if o.Err != nil || o.Output == nil {
		return d
	}
	var s specific
	if len(o.Output.Specific) > 0 && json.Unmarshal(o.Output.Specific, &s) != nil {
		return d
	}
	behavior := cmp.Or(s.Permission, s.Decision.Behavior, o.Output.Decision)
	d.Behavior = behaviors()[behavior]
	d.Reason = limited(cmp.Or(s.Reason, s.Decision.Message, o.Output.Reason, "a hook gave no reason"))
	d.Input = object(s.Input, s.Decision.Input)
	return d
}

// reasonOf is the reason that a hook gives for its decision, beside exit code 2.
func reasonOf(o hook.Outcome) string {
	var s specific
	if o.Code != 2 || o.Output == nil || json.Unmarshal(o.Output.Specific, &s) != nil {
		return ""
	}
	return s.Reason
}

// behaviors are the words of hooks. A call that is deferred waits for a person like
// one that is asked about: questions are on record and survive the process.
func behaviors() map[string]Behavior {
	return map[string]Behavior{"allow": Allow, "approve": Allow, "ask": Ask, "defer": Ask, "deny": Deny, "block": Deny}
}

// object returns the first of several texts that is a JSON object.
func object(all ...json.RawMessage) json.RawMessage {
	for _, raw := range all {
		if len(raw) > 0 && raw[0] == '{' && json.Valid(raw) {
			return raw
		}
	}
	return nil
}

// ErrBlocked is the error of what a hook has blocked.
var ErrBlocked = errors.New("blocked by a hook")
