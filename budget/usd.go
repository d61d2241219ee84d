package budget

import (
	"fmt"
	"strconv"
	"strings"
)

// USD is an amount of money in millionths of a millionth of a US dollar, so
// that one token of a price per million tokens is a whole number of them.
type USD int64

// Dollar is one US dollar.
const Dollar USD = 1_000_000_000_000

const decimals = 12 // of a Dollar

// maxDollars is the most that a written amount may be; sums of amounts below
// it stay far from the end of the integers.
const maxDollars = 1_000_000

// ParseUSD reads an amount such as 5, 0.25 or $1,000.
func ParseUSD(text string) (USD, error) {
	number := strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(text), "$"), ",", "")
	whole, part, _ := strings.Cut(number, ".")
	if len(part) > decimals || whole+part == "" || strings.ContainsFunc(whole+part, notDigit) {
		return 0, fmt.Errorf("%q is not an amount in dollars; write it like 2.50", text)
	}
	dollars, err := strconv.ParseInt("0"+whole, 10, 64)
	if err != nil || dollars >= maxDollars {
		return 0, fmt.Errorf("%q is too much; give less than %d dollars", text, maxDollars)
	}
	rest, err := strconv.ParseInt("0"+part+strings.Repeat("0", decimals-len(part)), 10, 64)
	return USD(dollars)*Dollar + USD(rest), err
}

func notDigit(r rune) bool { return r < '0' || r > '9' }

// Dollars returns the amount as a number for JSON and arithmetic of others.
func (u USD) Dollars() float64 { return float64(u) / float64(Dollar) }

// String writes the amount for people: $0.0042, $0.27, $12.30.
func (u USD) String() string {
	switch {
	case u > 0 && u < Dollar/10_000:
		return "<$0.0001"
	case u > 0 && u < Dollar/10:
		return fmt.Sprintf("$%.4f", u.Dollars())
	}
	return fmt.Sprintf("$%.2f", u.Dollars())
}

// Cost is what something has cost as far as it is known.
type Cost struct {
	USD
	// Unknown says that part of it was done by models without a price: USD is
	// not the whole.
	Unknown bool
}

// Add returns the sum of two costs; it is unknown when one of them is.
func (c Cost) Add(d Cost) Cost { return Cost{c.USD + d.USD, c.Unknown || d.Unknown} }

// String writes the cost for people, an unknown one as "$?".
func (c Cost) String() string {
	if c.Unknown {
		return "$?"
	}
	return c.USD.String()
}

// MarshalJSON writes dollars to the last digit, or null when they are not known.
func (c Cost) MarshalJSON() ([]byte, error) {
	if c.Unknown {
		return []byte("null"), nil
	}
	text := fmt.Sprintf("%d.%0*d", c.USD/Dollar, decimals, c.USD%Dollar)
	return []byte(strings.TrimRight(strings.TrimRight(text, "0"), ".")), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Cost) UnmarshalJSON(raw []byte) (err error) {
	if string(raw) == "null" {
		*c = Cost{Unknown: true}
		return nil
	}
	*c = Cost{}
	c.USD, err = ParseUSD(string(raw))
	return err
}
