package transcript

import (
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/model"
)

// Judgement is what a model made of a call, or of the report of an agent.
type Judgement struct {
	Call        string        `json:"call,omitempty"` // its id; "" is a report
	Model       string        `json:"model"`
	Instruction string        `json:"instruction"` // which one the model was given
	Verdict     agent.Verdict `json:"verdict,omitempty"`
	Reason      string        `json:"reason"`
	Took        time.Duration `json:"took"`
	Usage       model.Usage   `json:"usage,omitzero"` // of the request; it counts as the agent's
	// Case is what the model was shown.
	Case []byte `json:"-"`
}

type judgedMeta struct {
	Time time.Time `json:"t"`
	Judgement
	Cost *budget.Cost `json:"cost_usd,omitempty"` // nil is unknown
}

// Judged records a judgement. It returns when that is on disk; act on it only then.
func (t Judging) Judged(j Judgement) error {
	m := &judgedMeta{Time: time.Now(), Judgement: j}
	if j.Usage != (model.Usage{}) {
		m.Cost = t.store.priced(j.Usage, j.Model)
	}
	t.mu.Lock()
	ticket, err := t.add(kindJudged, m, j.Case)
	t.mu.Unlock()
	return wait(ticket, err)
}
