package price

import "github.com/actorswarm/swarm/budget"

// Names that stand in package budget.
type (
	USD  = budget.USD
	Cost = budget.Cost
)

// Dollar is one US dollar.
const Dollar = budget.Dollar

// ParseUSD reads an amount.
func ParseUSD(text string) (USD, error) { return budget.ParseUSD(text) }
