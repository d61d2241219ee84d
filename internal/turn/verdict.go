package turn

import (
	"context"

	"github.com/actorswarm/swarm/internal/permission"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/tool"
)

// Verdict is what becomes of a tool call, and who said so if it was a person.
type Verdict struct {
	permission.Decision
	By   string // "user"; "" if nobody was asked
	Note string // of the person, for the model
}

// refusal goes on after "permission denied".
func (v Verdict) refusal() string {
	switch {
	case v.By == "":
		return ": " + v.Reason
	case v.Note == "":
		return " by the " + v.By
	}
	return " by the " + v.By + ": " + v.Note
}

// why is the refusal for observers.
func (v Verdict) why() string {
	switch {
	case v.By == "":
		return v.Reason
	case v.Note == "":
		return "by the " + v.By
	}
	return "by the " + v.By + ": " + v.Note
}

// noted puts a person's note before the result of the call: nothing that the
// tool says can stand there.
func noted(r tool.Result, note string) tool.Result {
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
