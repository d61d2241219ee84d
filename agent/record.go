package agent

import (
	"time"

	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/actorswarm/swarm/team/protocol"
)

// Record is what is kept of an agent but for its conversation: what it is, what
// it does and what it has used.
type Record struct {
	Spec        Spec          `json:"spec"`
	Incarnation uint32        `json:"inc"`            // starts of its host so far
	TurnOpen    bool          `json:"open,omitempty"` // a turn has begun and not ended
	Turns       int           `json:"turns,omitempty"`
	Settled     int           `json:"settled,omitempty"`    // turns whose end was told when the agent ended
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
	Closed      bool          `json:"closed,omitempty"` // will not run again by itself
	Kept        *Kept         `json:"kept,omitempty"`   // what its own directory was kept for
	Active      time.Time     `json:"active"`           // of the newest record
	Woken       Waking        `json:"woken,omitzero"`   // how it was last woken after its end
	Launch      uint32        `json:"launch,omitempty"` // of a shadow: starts of the agent's process so far
	Below       budget.Amount `json:"below,omitzero"`   // of a shadow: what others in the agent's process have used

	Shutdown protocol.Shutdown `json:"shutdown,omitzero"`
	Plan     protocol.Plan     `json:"plan,omitzero"`
	Told     bool              `json:"told,omitempty"` // of one of the two, in no request yet
}

// Waking says how an agent that had ended came to work again.
type Waking struct {
	By     mailbox.AgentID `json:"by,omitempty"`     // for whom it works since; empty is its parent
	Answer int             `json:"answer,omitempty"` // of By, with the call that asked for it, if one did
	Call   string          `json:"call,omitempty"`
	Time   time.Time       `json:"t"`
}

// Kept says where an isolated agent's work is that was not removed at its end.
type Kept struct {
	Path   string   `json:"path"`
	Branch string   `json:"branch"` // "" if it was not git that made it
	Why    []string `json:"why"`    // changed, untracked, not pushed, …
}

// ModelUse is what an agent has used of one model.
type ModelUse struct {
	Model string      `json:"model"` // exact id, as the answers name it
	Usage model.Usage `json:"usage"`
	Known budget.Cost `json:"cost_usd"` // of what had a price when it was recorded
	// Unpriced is the part of Usage that had none.
	Unpriced model.Usage `json:"unpriced,omitzero"`
}

// Prices knows what a request to a model has cost. A model may have several
// names: the first that is known counts.
type Prices interface {
	Cost(u model.Usage, names ...string) budget.Cost
}

// Cost returns what the use has cost. Prices say what had no price when it was
// recorded; nil knows none.
func (u ModelUse) Cost(p Prices) budget.Cost {
	if p == nil {
		return u.Known.Add(budget.Cost{Unknown: u.Unpriced != (model.Usage{})})
	}
	return u.Known.Add(p.Cost(u.Unpriced, u.Model))
}

// Cost returns what the agent has cost so far. Prices are as for [ModelUse.Cost].
func (r *Record) Cost(p Prices) budget.Cost {
	sum := budget.Cost{}
	for _, u := range r.Models {
		sum = sum.Add(u.Cost(p))
	}
	return sum
}
