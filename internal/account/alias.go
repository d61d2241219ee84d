package account

import "github.com/actorswarm/swarm/budget"

// Names that stand in the public package budget.
type (
	Limits        = budget.Limits
	Amount        = budget.Amount
	Kind          = budget.Kind
	OverError     = budget.OverError
	UnpricedError = budget.UnpricedError
)

// Kinds of limits.
const (
	Money    = budget.Money
	Tokens   = budget.Tokens
	Requests = budget.Requests
	Time     = budget.Time
)
