package autojudge

import (
	"context"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/turn"
)

// Review returns a log of turns in which the report of a turn begins with a warning if the
// model objects to it or gives no verdict. of returns the context of the turn and the
// agent.
func (j *Judge) Review(log turn.Log, of func() (context.Context, Agent)) turn.Log {
	return reviewed{log, j, of}
}

type reviewed struct {
	turn.Log
	judge *Judge
	of    func() (context.Context, Agent)
}

func (r reviewed) End(o agent.Outcome, reason, text, note string) error {
	if o == agent.Completed && text != "" {
		ctx, a := r.of()
		warning, err := r.judge.Report(ctx, a, text)
		if err != nil {
			warning = "(warning: the work of this agent was not reviewed: " + err.Error() + ")\n\n"
		}
		text = warning + text
	}
	return r.Log.End(o, reason, text, note)
}
