package price

import (
	"regexp"
	"strings"

	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/model"
)

// Rates are the prices of a million tokens of each kind.
type Rates struct {
	Input      budget.USD // neither written to nor read from the cache
	Output     budget.USD
	CacheRead  budget.USD
	CacheWrite budget.USD
}

// perToken converts the price of a million tokens into the price of one, which is a whole
// number of USD for every published price.
func perToken(million budget.USD) budget.USD { return million / 1_000_000 }

func (r Rates) of(u model.Usage) budget.USD {
	return budget.USD(u.InputTokens)*perToken(r.Input) + budget.USD(u.OutputTokens)*perToken(r.Output) +
		budget.USD(u.CacheReadInputTokens)*perToken(r.CacheRead) + budget.USD(u.CacheCreationInputTokens)*perToken(r.CacheWrite)
}

// Price is the price of a model.
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

// Of returns the cost of one request.
func (p Price) Of(u model.Usage) budget.USD {
	return p.rates(u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens).of(u)
}

// AtMost returns the highest cost of a request with so many tokens of input: none of it
// read from the cache, and each token of output used.
func (p Price) AtMost(input int64) (in, perOutput budget.USD) {
	r := p.rates(input)
	return budget.USD(input) * perToken(max(r.Input, r.CacheRead, r.CacheWrite)), perToken(r.Output)
}

// entry has the price and the window of the models of one name.
type entry struct {
	name   string
	price  *Price
	window int64
}

// Table has the prices and windows of models. The nil table is empty. A Table does not
// change and may be used from several goroutines.
type Table struct {
	own  []entry // of the user; matches each id that begins with the name
	list []entry // published; matches the id itself, and its forms with a date or a place
}

// Of returns the price of a model; ok is false if it is unknown.
func (t *Table) Of(id string) (p Price, ok bool) {
	e, ok := t.find(id, func(e entry) bool { return e.price != nil })
	if !ok {
		return Price{}, false
	}
	return *e.price, true
}

// AtMost returns the highest cost of a request to a model with so many tokens of input, as
// [Price.AtMost] does; ok is false if the price is unknown.
func (t *Table) AtMost(id string, input int64) (in, perOutput budget.USD, ok bool) {
	p, ok := t.Of(id)
	in, perOutput = p.AtMost(input)
	return in, perOutput, ok
}

// Window returns how many tokens the context of a model holds; 0 if that is unknown.
func (t *Table) Window(id string) int64 {
	e, _ := t.find(id, func(e entry) bool { return e.window > 0 })
	if strings.HasSuffix(id, longContext) && e.name != "" {
		return max(e.window, 1_000_000)
	}
	return e.window
}

// longContext ends an id that asks for a window of a million tokens.
const longContext = "[1m]"

// Cost returns the cost of one request to a model. A model may have several names, as
// requested and as answered: the first known one counts.
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

// sameModel matches what may follow a published name without naming another model: a date,
// a release, a place.
var sameModel = regexp.MustCompile(`^(-latest)?([-@][0-9]{4}-?[0-9]{2}-?[0-9]{2})?(-v[0-9]+)?(:[0-9]+)?$`)

// placed matches what resellers put before a published name.
var placed = regexp.MustCompile(`^([a-z]+\.)?anthropic\.`)

func bareID(id string) string {
	id = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(id)), longContext)
	id = id[strings.LastIndexByte(id, '/')+1:]
	return placed.ReplaceAllString(id, "")
}
