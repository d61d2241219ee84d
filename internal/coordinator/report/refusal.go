package report

import (
	"errors"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/tool"
)

// refusal is the structured result of a spawn that a limit does not allow.
type refusal struct {
	Status string `json:"status"`           // refused
	Reason string `json:"reason"`           // over_budget, unpriced_model, limit_depth, limit_agents
	Kind   string `json:"budget,omitempty"` // money, tokens, requests, time
	Owner  string `json:"owner,omitempty"`  // whose budget
	// Used and Limit are in dollars, tokens, requests or seconds.
	Used  float64 `json:"used,omitempty"`
	Limit float64 `json:"limit,omitempty"`
}

// Refused returns the result of a call whose agent was not started.
func Refused(err error) tool.Result {
	r := tool.Errorf("%v", err)
	var over *budget.ExceededError
	var unpriced *budget.UnpricedError
	var limit *spawn.LimitError
	switch {
	case errors.As(err, &over):
		r.Detail = Detail(refusal{"refused", "over_budget", string(over.Kind), over.Owner, over.Shown(over.Used), over.Shown(over.Limit)})
	case errors.As(err, &unpriced):
		r.Detail = Detail(refusal{Status: "refused", Reason: "unpriced_model", Kind: string(budget.Money), Owner: unpriced.Owner})
	case errors.As(err, &limit):
		r.Detail = Detail(refusal{Status: "refused", Reason: "limit_" + limit.What, Limit: float64(limit.Max)})
	}
	return r
}
