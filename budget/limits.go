package budget

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limits bound the use of an account and all below it together. A zero field is no limit.
type Limits struct {
	Money    USD           `json:"money,omitempty"`    // in millionths of a millionth of a dollar
	Tokens   int64         `json:"tokens,omitempty"`   // input and output, cached or not
	Requests int64         `json:"requests,omitempty"` // model requests
	Time     time.Duration `json:"time,omitempty"`     // since the account was opened, in nanoseconds
}

// Or returns the limits with zero fields taken from m.
func (l Limits) Or(m Limits) Limits {
	return Limits{
		Money: cmp.Or(l.Money, m.Money), Tokens: cmp.Or(l.Tokens, m.Tokens),
		Requests: cmp.Or(l.Requests, m.Requests), Time: cmp.Or(l.Time, m.Time),
	}
}

// String returns the limits, such as "$2.50, 200,000 tokens", or "none".
func (l Limits) String() string {
	var all []string
	for _, limit := range [...]struct {
		of Kind
		n  int64
	}{{Money, int64(l.Money)}, {Tokens, l.Tokens}, {Requests, l.Requests}, {Time, int64(l.Time)}} {
		if limit.n > 0 {
			all = append(all, limit.of.show(limit.n))
		}
	}
	return cmp.Or(strings.Join(all, ", "), "none")
}

// Amount is what was used.
type Amount struct {
	Money    USD
	Tokens   int64
	Requests int64
}

// Plus returns the sum.
func (a Amount) Plus(b Amount) Amount {
	return Amount{a.Money + b.Money, a.Tokens + b.Tokens, a.Requests + b.Requests}
}

// Minus returns a - b, and 0 where b is larger.
func (a Amount) Minus(b Amount) Amount {
	return Amount{a.Money - b.Money, a.Tokens - b.Tokens, a.Requests - b.Requests}
}

// Kind is the quantity of a limit.
type Kind string

// The kinds of limits.
const (
	Money    Kind = "money"
	Tokens   Kind = "tokens"
	Requests Kind = "requests"
	Time     Kind = "time"
)

// ExceededError reports a request that a limit does not allow.
type ExceededError struct {
	Kind  Kind
	Owner string // the owner of the limit
	// Used, Need and Limit are in tokens, requests, nanoseconds, or the unit of USD.
	// Need is the least that the request would use.
	Used, Need, Limit int64
}

func (e *ExceededError) Error() string {
	text := fmt.Sprintf("the budget of %s is used up: %s of %s", e.Owner, e.Kind.show(e.Used), e.Kind.show(e.Limit))
	if e.Used < e.Limit && e.Need > 0 {
		text += fmt.Sprintf(", and the next request may need %s", e.Kind.show(e.Need))
	}
	return text + "; raise the limit to continue"
}

// Shown returns an amount of the error in dollars, tokens, requests or seconds.
func (e *ExceededError) Shown(n int64) float64 {
	switch e.Kind {
	case Money:
		return USD(n).Dollars()
	case Time:
		return time.Duration(n).Seconds()
	}
	return float64(n)
}

func (k Kind) show(n int64) string {
	switch k {
	case Money:
		return USD(n).String()
	case Time:
		return time.Duration(n).Round(time.Second).String()
	}
	return grouped(n) + " " + string(k)
}

// grouped writes a number with a comma at each thousand.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// UnpricedError reports a request of unknown price under a limit of money.
type UnpricedError struct {
	Model string
	Owner string // the owner of the limit
}

func (e *UnpricedError) Error() string {
	return fmt.Sprintf("the price of the model %q is not known, so the limit of money of %s cannot be kept; "+
		"give its price in models.yaml (see docs/models.md), or limit tokens instead", e.Model, e.Owner)
}
