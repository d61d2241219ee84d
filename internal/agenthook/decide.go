package agenthook

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/hook"
)

// decide combines the decisions of hooks about a call: the strictest wins.
func (h *Hooks) decide(a agent.Spec, all []hook.Outcome) (d Decision) {
	d.Context = h.contexts(a, all, false)
	for _, o := range all {
		one := decisionOf(o)
		d.Deferred = d.Deferred || one.Deferred
		if one.Behavior > d.Behavior {
			d.Behavior, d.Reason = one.Behavior, one.Reason
		}
		if one.Input != nil {
			d.Input = one.Input
		}
		d.Updates = append(d.Updates, one.Updates...)
		d.Stop = cmp.Or(d.Stop, one.Stop)
	}
	d.Deferred = d.Deferred && d.Behavior == Ask
	return d
}

// specific is what hooks of PreToolUse and PermissionRequest print. Texts with a wrong type
// are empty, and behaviors with one deny.
type specific struct {
	Permission behavior        `json:"permissionDecision"`
	Reason     text            `json:"permissionDecisionReason"`
	Input      json.RawMessage `json:"updatedInput"`
	Decision   answer          `json:"decision"`
}

// answer is what a hook of PermissionRequest decides.
type answer struct {
	Behavior  behavior        `json:"behavior"`
	Message   text            `json:"message"`
	Input     json.RawMessage `json:"updatedInput"`
	Updates   updates         `json:"updatedPermissions"`
	Interrupt json.RawMessage `json:"interrupt"` // the turn ends with a denial
}

// text is a string; what has another type is "".
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*t = text(s)
	}
	return nil
}

// behavior is the word of a hook; what is no known word is "deny", so that no mistake
// opens what a hook guards.
type behavior string

// UnmarshalJSON implements json.Unmarshaler.
func (b *behavior) UnmarshalJSON(raw []byte) error {
	var s string
	err := json.Unmarshal(raw, &s)
	if _, known := behaviors()[s]; err != nil || s != "" && !known {
		s = "deny"
	}
	*b = behavior(s)
	return nil
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
	if len(o.Output.Specific) > 0 {
		_ = json.Unmarshal(o.Output.Specific, &s) // it is an object, and what has a wrong type is left out
	}
	word := cmp.Or(string(s.Permission), string(s.Decision.Behavior), o.Output.Decision)
	d.Behavior, d.Deferred = behaviors()[word], word == "defer"
	d.Reason = limited(cmp.Or(string(s.Reason), string(s.Decision.Message), o.Output.Reason, "a hook gave no reason"))
	d.Input, d.Updates = object(s.Input, s.Decision.Input), s.Decision.Updates
	if d.Behavior == Deny && string(s.Decision.Interrupt) == "true" {
		d.Stop = d.Reason
	}
	return d
}

// reasonOf is the reason that a hook gives for its decision, beside exit code 2.
func reasonOf(o hook.Outcome) string {
	var s specific
	if o.Code != 2 || o.Output == nil || json.Unmarshal(o.Output.Specific, &s) != nil {
		return ""
	}
	return string(s.Reason)
}

// ignoredRequest reports a hook of PermissionRequest that only exits with code 2, which
// decides nothing there.
func ignoredRequest(o hook.Outcome) bool { return o.Err == nil && o.Code == 2 && o.Output == nil }

// timedOut reports a hook that took too long.
func timedOut(o hook.Outcome) bool { return errors.As(o.Err, new(*hook.TimeoutError)) }

// behaviors are the words of hooks. A call that is deferred is asked about where somebody
// can be asked: questions are on record and survive the process.
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

// updatedOutput returns what the last hook that does so puts in place of a result.
func updatedOutput(all []hook.Outcome) (output json.RawMessage) {
	for _, o := range all {
		var s struct {
			Output json.RawMessage `json:"updatedToolOutput"`
			Old    json.RawMessage `json:"updatedMCPToolOutput"`
		}
		if _, blocked := o.Blocked(); blocked || o.Err != nil || o.Output == nil || json.Unmarshal(o.Output.Specific, &s) != nil {
			continue
		}
		for _, raw := range []json.RawMessage{s.Old, s.Output} {
			if len(raw) > 0 && string(raw) != "null" {
				output = raw
			}
		}
	}
	return output
}
