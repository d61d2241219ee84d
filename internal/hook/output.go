package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Output is the JSON object that a hook may print.
type Output struct {
	Continue      *bool
	StopReason    string
	SystemMessage string
	Decision      string
	Reason        string
	// Specific is "hookSpecificOutput", which depends on the event; nil, or an object.
	Specific json.RawMessage
}

// maxText is how much of a text in an output is kept, in bytes.
const maxText = 64 << 10

// parseOutput reads standard output that begins with "{"; nil if it does not. Each field
// counts by itself: problem names those that cannot be read, of another event, or without
// an effect here. malformed reports that some could not be read.
func parseOutput(event, stdout string) (out *Output, problem string, malformed bool) {
	text := bytes.TrimSpace([]byte(stdout))
	if !bytes.HasPrefix(text, []byte("{")) {
		return nil, "", false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return nil, "it printed what begins like JSON and cannot be read", true
	}
	out = new(Output)
	wrong := out.fill(fields)
	wrong = append(wrong, out.keepSpecific(event)...)
	idle := out.withoutEffect(fields)
	return out, problemText(wrong, idle), len(wrong) > 0
}

// fill sets the fields and returns the names of those with a wrong type.
func (o *Output) fill(fields map[string]json.RawMessage) (wrong []string) {
	for _, f := range []struct {
		name string
		into any
	}{
		{"continue", &o.Continue},
		{"stopReason", &o.StopReason},
		{"systemMessage", &o.SystemMessage},
		{"decision", &o.Decision},
		{"reason", &o.Reason},
		{"hookSpecificOutput", &o.Specific},
	} {
		if raw, ok := fields[f.name]; ok && json.Unmarshal(raw, f.into) != nil {
			wrong = append(wrong, f.name)
		}
	}
	if slices.Contains(wrong, "continue") {
		o.Continue = nil
	}
	for _, text := range []*string{&o.StopReason, &o.SystemMessage, &o.Reason} {
		if len(*text) > maxText {
			*text = strings.ToValidUTF8((*text)[:maxText], "")
		}
	}
	return wrong
}

// keepSpecific drops what is no object, or of another event.
func (o *Output) keepSpecific(event string) (wrong []string) {
	if o.Specific == nil || string(o.Specific) == "null" {
		o.Specific = nil
		return nil
	}
	var name struct {
		Event *string `json:"hookEventName"`
	}
	if o.Specific[0] == '{' && json.Unmarshal(o.Specific, &name) == nil && (name.Event == nil || *name.Event == event) {
		return nil
	}
	o.Specific = nil
	return []string{"hookSpecificOutput (it must be an object with the hookEventName " + event + ")"}
}

// withoutEffect returns the names of fields that are known and do nothing here, or are not
// known.
func (o *Output) withoutEffect(fields map[string]json.RawMessage) (idle []string) {
	known := []string{"continue", "stopReason", "systemMessage", "decision", "reason", "hookSpecificOutput", "suppressOutput"}
	for name := range fields {
		if !slices.Contains(known, name) {
			idle = append(idle, fmt.Sprintf("%.60q", name))
		}
	}
	var specific map[string]json.RawMessage
	if json.Unmarshal(o.Specific, &specific) == nil && specific["classifierContext"] != nil {
		idle = append(idle, `"hookSpecificOutput.classifierContext"`) // the model that judges calls sees no results
	}
	slices.Sort(idle)
	return idle[:min(len(idle), 10)]
}

func problemText(wrong, idle []string) string {
	var parts []string
	if len(wrong) > 0 {
		parts = append(parts, "it printed JSON with fields that cannot be read: "+strings.Join(wrong, ", "))
	}
	if len(idle) > 0 {
		parts = append(parts, "it printed JSON with fields that have no effect here: "+strings.Join(idle, ", "))
	}
	return strings.Join(parts, "; ")
}
