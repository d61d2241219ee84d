package budget_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/actorswarm/swarm/budget"
)

func TestMoneyIsReadAsItIsWritten(t *testing.T) {
	for text, want := range map[string]budget.USD{
		"5": 5 * budget.Dollar, "0.25": budget.Dollar / 4, "$1,000": 1000 * budget.Dollar, " $.5 ": budget.Dollar / 2, "2.": 2 * budget.Dollar,
		"0.000000000001": 1, "999999.999999999999": 1_000_000*budget.Dollar - 1,
	} {
		if got, err := budget.ParseUSD(text); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "is not an amount", ".": "is not an amount", "-1": "is not an amount", "1e3": "is not an amount", "1.2.3": "is not an amount",
		"0.0000000000001": "is not an amount", "1000000": "too much", "99999999999999999999": "too much", "five": "is not an amount",
	} {
		if got, err := budget.ParseUSD(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %d, %v; want %q", text, got, err, want)
		}
	}
}

func TestMoneyIsShownToPeople(t *testing.T) {
	for u, want := range map[budget.USD]string{
		0: "$0.00", 1: "<$0.0001", budget.Dollar/10_000 - 1: "<$0.0001", budget.Dollar / 10_000: "$0.0001", 42 * budget.Dollar / 10_000: "$0.0042",
		budget.Dollar / 10: "$0.10", 123 * budget.Dollar / 10: "$12.30", -budget.Dollar: "$-1.00",
	} {
		if u.String() != want {
			t.Errorf("%d is shown as %s, want %s", int64(u), u, want)
		}
	}
	if got := (budget.Cost{USD: budget.Dollar, Unknown: true}).String(); got != "$?" {
		t.Errorf("a cost that nobody knows is %s", got)
	}
	if got := (budget.Cost{USD: budget.Dollar}).String(); got != "$1.00" {
		t.Errorf("a dollar is %s", got)
	}
}

func TestACostComesBackFromJSON(t *testing.T) {
	for text, c := range map[string]budget.Cost{
		"null": {Unknown: true}, "0": {}, "2.5": {USD: 5 * budget.Dollar / 2}, "10": {USD: 10 * budget.Dollar}, "0.000000000001": {USD: 1},
	} {
		raw, err := json.Marshal(c)
		if err != nil || string(raw) != text {
			t.Errorf("%+v is written as %s, %v; want %s", c, raw, err, text)
		}
		back := budget.Cost{USD: 7, Unknown: true}
		if err := json.Unmarshal(raw, &back); err != nil || back != c {
			t.Errorf("%s is read as %+v, %v", raw, back, err)
		}
	}
	if err := json.Unmarshal([]byte(`"much"`), new(budget.Cost)); err == nil {
		t.Error("a word is taken for a cost")
	}
	sum := budget.Cost{USD: 1}.Add(budget.Cost{USD: 2})
	unknown := budget.Cost{USD: 1}.Add(budget.Cost{Unknown: true})
	if sum != (budget.Cost{USD: 3}) || unknown != (budget.Cost{USD: 1, Unknown: true}) || unknown.Add(sum) != (budget.Cost{USD: 4, Unknown: true}) {
		t.Errorf("the sums are %+v and %+v", sum, unknown)
	}
}

func TestLimitsAreNamed(t *testing.T) {
	all := budget.Limits{Money: 5 * budget.Dollar / 2, Tokens: 1_200_000, Requests: 999, Time: 90 * time.Second}
	if want := "$2.50, 1,200,000 tokens, 999 requests, 1m30s"; all.String() != want {
		t.Errorf("%s, want %s", all, want)
	}
	if got := (budget.Limits{}).String(); got != "none" {
		t.Errorf("no limit is %q", got)
	}
	some := budget.Limits{Tokens: 7}
	if got, want := some.Or(all), (budget.Limits{Money: all.Money, Tokens: 7, Requests: 999, Time: all.Time}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestAmountsAreAddedInEachPart(t *testing.T) {
	a, b := budget.Amount{Money: 10, Tokens: 20, Requests: 30}, budget.Amount{Money: 1, Tokens: 2, Requests: 3}
	if got := a.Plus(b); got != (budget.Amount{Money: 11, Tokens: 22, Requests: 33}) {
		t.Errorf("the sum is %+v", got)
	}
	if got := a.Minus(b); got != (budget.Amount{Money: 9, Tokens: 18, Requests: 27}) {
		t.Errorf("the difference is %+v", got)
	}
}

func TestARefusalSaysWhatIsUsedAndNeeded(t *testing.T) {
	const end = "; raise the limit to continue"
	for want, e := range map[string]budget.ExceededError{
		"the budget of bob is used up: $1.00 of $2.00, and the next request may need $1.50" + end: {Kind: budget.Money, Owner: "bob", Used: int64(budget.Dollar), Need: int64(budget.Dollar * 3 / 2), Limit: int64(budget.Dollar * 2)},
		"the budget of bob is used up: 5 requests of 5 requests" + end:                            {Kind: budget.Requests, Owner: "bob", Used: 5, Need: 1, Limit: 5},
		"the budget of bob is used up: 1m30s of 2m0s" + end:                                       {Kind: budget.Time, Owner: "bob", Used: int64(90 * time.Second), Limit: int64(2 * time.Minute)},
	} {
		if e.Error() != want {
			t.Errorf("%q\nwant %q", e.Error(), want)
		}
	}
	for kind, want := range map[budget.Kind]float64{budget.Money: 2.5, budget.Time: 2_500, budget.Tokens: 2_500_000_000_000} {
		if got := (&budget.ExceededError{Kind: kind}).Shown(2_500_000_000_000); got != want {
			t.Errorf("%s: %v, want %v", kind, got, want)
		}
	}
	if e := (&budget.UnpricedError{Model: "llama", Owner: "bob"}).Error(); !strings.Contains(e, `"llama"`) || !strings.Contains(e, "bob") {
		t.Error(e)
	}
}
