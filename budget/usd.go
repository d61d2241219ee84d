package budget

import (
	"fmt"
	"strconv"
	"strings"
)

// USD is an amount of money in millionths of a millionth of a US dollar, so that the price
// of one token is a whole number.
type USD int64

// Dollar is one US dollar.
const Dollar USD = 1_000_000_000_000

const decimals = 12 // of a Dollar

// maxDollars bounds amounts that people write; sums of such amounts do not overflow.
const maxDollars = 1_000_000

// ParseUSD parses an amount such as 5, 0.25 or $1,000.
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

// Dollars returns the amount in dollars.
func (u USD) Dollars() float64 { return float64(u) / float64(Dollar) }

// String formats the amount for people: $0.0042, $0.27, $12.30.
func (u USD) String() string {
	switch {
	case u > 0 && u < Dollar/10_000:
		return "<$0.0001"
	case u > 0 && u < Dollar/10:
		return fmt.Sprintf("$%.4f", u.Dollars())
	}
	return fmt.Sprintf("$%.2f", u.Dollars())
}

// Cost is the cost of something, as far as it is known.
type Cost struct {
	USD
	// Unknown reports that models without a price did a part of it, which USD does not
	// contain.
	Unknown bool
}

// Add returns the sum of two costs; it is unknown when one of them is.
func (c Cost) Add(d Cost) Cost { return Cost{c.USD + d.USD, c.Unknown || d.Unknown} }

// String formats the cost for people, an unknown one as "$?".
func (c Cost) String() string {
	if c.Unknown {
		return "$?"
	}
	return c.USD.String()
}

// MarshalJSON encodes all digits of the dollars, or null if the cost is unknown.
func (c Cost) MarshalJSON() ([]byte, error) {
	if c.Unknown {
		return []byte("null"), nil
	}
	text := fmt.Sprintf("%d.%0*d", c.USD/Dollar, decimals, c.USD%Dollar)
	return []byte(strings.TrimRight(strings.TrimRight(text, "0"), ".")), nil
}

// UnmarshalJSON decodes what MarshalJSON encodes.
func (c *Cost) UnmarshalJSON(raw []byte) (err error) {
	if string(raw) == "null" {
		*c = Cost{Unknown: true}
		return nil
	}
	*c = Cost{}
	c.USD, err = ParseUSD(string(raw))
	return err
}
