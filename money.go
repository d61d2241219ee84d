package swarm

import (
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/price"
	"github.com/actorswarm/swarm/model"
)

// Limits bound what agents may use together; a zero field is no limit. Money is
// a multiple of Dollar.
type Limits = budget.Limits

// USD is an amount of money.
type USD = budget.USD

// Cost is what something has cost, as far as that is known.
type Cost = budget.Cost

// Dollar is one US dollar.
const Dollar = budget.Dollar

// ParseUSD reads an amount such as 5, 0.25 or $1,000.
func ParseUSD(text string) (USD, error) { return budget.ParseUSD(text) }

// ModelUse is what was used of one model. Cost is unknown when the model has no
// price.
type ModelUse struct {
	model.Usage
	Cost Cost
}

// byModel returns what agents have used, by the exact ids of their models.
func byModel(all []actors.Status, t *price.Table) (tree map[string]ModelUse, cost budget.Cost) {
	tree = map[string]ModelUse{}
	for _, a := range all {
		for _, u := range a.Life.Models {
			sum := tree[u.Model]
			tree[u.Model] = ModelUse{sum.Add(u.Usage), sum.Cost.Add(u.Cost(t))}
		}
		cost = cost.Add(a.Cost)
	}
	return tree, cost
}

func minus(a, b agent.Record) model.Usage {
	return model.Usage{
		InputTokens:              a.Usage.InputTokens - b.Usage.InputTokens,
		OutputTokens:             a.Usage.OutputTokens - b.Usage.OutputTokens,
		CacheCreationInputTokens: a.Usage.CacheCreationInputTokens - b.Usage.CacheCreationInputTokens,
		CacheReadInputTokens:     a.Usage.CacheReadInputTokens - b.Usage.CacheReadInputTokens,
	}
}
