package turn

import (
	"context"
	"encoding/json"

	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
)

// Verdict is the decision about a tool call.
type Verdict struct {
	permission.Decision
	By   string // "user"; "" if no person was asked
	Note string // from the person to the model
	// Input replaces the input of the call, and Context is put after its result; both
	// are of hooks.
	Input   json.RawMessage
	Context []string
}

// refusal returns the text after "permission denied".
func (v Verdict) refusal() string {
	switch {
	case v.By == "":
		return ": " + v.Reason
	case v.Note == "":
		return " by the " + v.By
	}
	return " by the " + v.By + ": " + v.Note
}

// reason returns the refusal for observers.
func (v Verdict) reason() string {
	switch {
	case v.By == "":
		return v.Reason
	case v.Note == "":
		return "by the " + v.By
	}
	return "by the " + v.By + ": " + v.Note
}

// withNote puts a person's note before the result of the call, where the
// tool cannot write.
func withNote(r tool.Result, note string) tool.Result {
	if note != "" {
		r.Text = "The user allowed this call with the note: " + note + "\n\n" + r.Text
	}
	return r
}

func (t *Turn) permit(ctx context.Context, spec tool.Spec, c model.Call) (Verdict, error) {
	if t.Permit == nil {
		return Verdict{Decision: permission.Decision{Behavior: permission.Allow}}, nil
	}
	return t.Permit(ctx, spec, c)
}
