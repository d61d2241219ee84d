package price

import (
	"regexp"
	"strings"

	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/model"
)

// Rates are what a million tokens of each kind cost.
type Rates struct {
	Input      budget.USD // neither written to nor read from the cache
	Output     budget.USD
	CacheRead  budget.USD
	CacheWrite budget.USD
}

// perToken turns a price of a million tokens into the price of one; every
// published price is a whole number of these.
func perToken(million budget.USD) budget.USD { return million / 1_000_000 }

func (r Rates) of(u model.Usage) budget.USD {
	return budget.USD(u.InputTokens)*perToken(r.Input) + budget.USD(u.OutputTokens)*perToken(r.Output) +
		budget.USD(u.CacheReadInputTokens)*perToken(r.CacheRead) + budget.USD(u.CacheCreationInputTokens)*perToken(r.CacheWrite)
}

// Price is what a model costs.
type Price struct {
	Rates
	// Long are the rates of a request whose whole input, cached or not, is
	// longer than LongAbove tokens; 0 means that there is no such step.
	LongAbove int64
	Long      Rates
}

func (p Price) rates(input int64) Rates {
	if p.LongAbove > 0 && input > p.LongAbove {
		return p.Long
	}
	return p.Rates
}

// Of returns what one request has cost.
func (p Price) Of(u model.Usage) budget.USD {
	return p.rates(u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens).of(u)
}

// AtMost returns the most that one request can cost whose input has so many
// tokens: the input if none of it is read from the cache, and each token of
// output.
func (p Price) AtMost(input int64) (in, perOutput budget.USD) {
	r := p.rates(input)
	return budget.USD(input) * perToken(max(r.Input, r.CacheRead, r.CacheWrite)), perToken(r.Output)
}

// entry is what is known of the models of one name.
type entry struct {
	name   string
	price  *Price
	window int64
}

// Table answers what is known of models. The nil table knows nothing. A Table
// does not change and may be used from several goroutines.
type Table struct {
	own  []entry // of the user; an id that begins with the name is meant
	list []entry // ours; only the id itself and its dated and placed forms are meant
}

// Of returns what a model costs; ok is false if nobody knows.
func (t *Table) Of(id string) (p Price, ok bool) {
	e, ok := t.find(id, func(e entry) bool { return e.price != nil })
	if !ok {
		return Price{}, false
	}
	return *e.price, true
}

// AtMost returns the most that one request to a model can cost whose input has so
// many tokens, as [Price.AtMost] does; ok is false if nobody knows.
func (t *Table) AtMost(id string, input int64) (in, perOutput budget.USD, ok bool) {
	p, ok := t.Of(id)
	in, perOutput = p.AtMost(input)
	return in, perOutput, ok
}

// Window returns how many tokens a model's context holds; 0 if nobody knows.
func (t *Table) Window(id string) int64 {
	e, _ := t.find(id, func(e entry) bool { return e.window > 0 })
	if strings.HasSuffix(id, longContext) && e.name != "" {
		return max(e.window, 1_000_000)
	}
	return e.window
}

// longContext ends an id that asks for a window of a million tokens.
const longContext = "[1m]"

// Cost returns what one request to a model has cost. A model may have several
// names, as asked for and as answered: the first that is known counts.
func (t *Table) Cost(u model.Usage, names ...string) budget.Cost {
	if u == (model.Usage{}) {
		return budget.Cost{}
	}
	for _, name := range names {
		if p, ok := t.Of(name); ok {
			return budget.Cost{USD: p.Of(u)}
		}
	}
	return budget.Cost{Unknown: true}
}

func (t *Table) find(id string, has func(entry) bool) (best entry, ok bool) {
	if t == nil {
		return entry{}, false
	}
	whole, bare := strings.ToLower(strings.TrimSpace(id)), bareID(id)
	for _, e := range t.own {
		named := strings.HasPrefix(whole, e.name) || strings.HasPrefix(bare, e.name)
		if named && has(e) && len(e.name) > len(best.name) {
			best, ok = e, true
		}
	}
	if ok {
		return best, true
	}
	for _, e := range t.list {
		rest, named := strings.CutPrefix(bare, e.name)
		if named && sameModel.MatchString(rest) && has(e) {
			return e, true
		}
	}
	return entry{}, false
}

// sameModel is what may follow a published name without meaning another model:
// a date, a release, a place.
var sameModel = regexp.MustCompile(`^(-latest)?([-@][0-9]{4}-?[0-9]{2}-?[0-9]{2})?(-v[0-9]+)?(:[0-9]+)?$`)

// placed is what stands before a published name in the ids of resellers.
var placed = regexp.MustCompile(`^([a-z]+\.)?anthropic\.`)

func bareID(id string) string {
	id = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(id)), longContext)
	id = id[strings.LastIndexByte(id, '/')+1:]
	return placed.ReplaceAllString(id, "")
}
