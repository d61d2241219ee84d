package agent

import (
	"time"

	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/team/protocol"
)

// Record is the state of an agent without its conversation.
type Record struct {
	Spec        Spec          `json:"spec"`
	Incarnation uint32        `json:"inc"`            // starts of its host so far
	TurnOpen    bool          `json:"open,omitempty"` // a turn has begun and not ended
	Turns       int           `json:"turns,omitempty"`
	Reported    int           `json:"settled,omitempty"`    // turns whose end was reported when the agent ended
	Steps       int           `json:"steps,omitempty"`      // model answers so far
	TurnSteps   int           `json:"turn_steps,omitempty"` // those of the open or newest turn
	Worked      time.Duration `json:"worked,omitempty"`     // in turns so far, without the time between two runs
	Usage       model.Usage   `json:"usage"`
	Models      []ModelUse    `json:"models,omitempty"`      // Usage by model; replaced, never changed in place
	AnsweredBy  string        `json:"answered_by,omitempty"` // exact id of the model of the newest answer
	ToolUses    int           `json:"tool_uses,omitempty"`
	Compactions int           `json:"compactions,omitempty"`
	Outcome     Outcome       `json:"outcome,omitempty"` // of the last ended turn
	Reason      string        `json:"reason,omitempty"`
	Result      string        `json:"result,omitempty"` // final text of the last ended turn
	Closed      bool          `json:"closed,omitempty"` // does not run again by itself
	KeptDir     *KeptDir      `json:"kept,omitempty"`   // its own directory, if it was not removed
	Active      time.Time     `json:"active"`           // of the newest record
	Woken       Waking        `json:"woken,omitzero"`   // how it was last woken after its end
	Launch      uint32        `json:"launch,omitempty"` // of a replica: starts of the agent's process so far
	Nested      budget.Amount `json:"below,omitzero"`   // of a replica: what other agents in the agent's process have used

	Shutdown protocol.Shutdown `json:"shutdown,omitzero"`
	Plan     protocol.Plan     `json:"plan,omitzero"`
	Judged   Judged            `json:"judged,omitzero"`
	Unread   bool              `json:"told,omitempty"` // a change of Shutdown or Plan is not yet in a request
}

// Waking is who woke an agent that had ended.
type Waking struct {
	By     mailbox.AgentID `json:"by,omitempty"`     // the agent it works for since; "" is its parent
	Answer int             `json:"answer,omitempty"` // number of By's answer with the call, if there was one
	Call   string          `json:"call,omitempty"`
	Time   time.Time       `json:"t"`
}

// KeptDir is the directory of an isolated agent that was not removed at its end.
type KeptDir struct {
	Path   string   `json:"path"`
	Branch string   `json:"branch"` // "" if a hook made it
	Why    []string `json:"why"`    // changed, untracked, not pushed, …
}

// ModelUse is an agent's use of one model.
type ModelUse struct {
	Model string      `json:"model"` // exact id from the answers
	Usage model.Usage `json:"usage"`
	Known budget.Cost `json:"cost_usd"` // of what had a price when it was recorded
	// Unpriced is the part of Usage without a price.
	Unpriced model.Usage `json:"unpriced,omitzero"`
}

// Prices returns the cost of a request to a model. A model may have several names: the
// first known one counts.
type Prices interface {
	Cost(u model.Usage, names ...string) budget.Cost
}

// Cost returns the cost of the use. Prices, which may be nil, apply to what had no price
// when it was recorded.
func (u ModelUse) Cost(p Prices) budget.Cost {
	if p == nil {
		return u.Known.Add(budget.Cost{Unknown: u.Unpriced != (model.Usage{})})
	}
	return u.Known.Add(p.Cost(u.Unpriced, u.Model))
}

// Cost returns the cost of the agent so far. Prices are as for [ModelUse.Cost].
func (r *Record) Cost(p Prices) budget.Cost {
	sum := budget.Cost{}
	for _, u := range r.Models {
		sum = sum.Add(u.Cost(p))
	}
	return sum
}
