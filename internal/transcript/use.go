package transcript

import (
	"slices"
	"time"

	"github.com/actorswarm/swarm/internal/price"
	"github.com/actorswarm/swarm/model"
)

// ModelUse is what an agent has used of one model.
type ModelUse struct {
	Model string      `json:"model"` // exact id, as the answers name it
	Usage model.Usage `json:"usage"`
	Known price.Cost  `json:"cost_usd"` // of what had a price when it was recorded
	// Unpriced is the part of Usage that had none.
	Unpriced model.Usage `json:"unpriced,omitzero"`
}

// Cost returns what the use has cost. The table prices what had no price; nil
// knows none.
func (u ModelUse) Cost(t *price.Table) price.Cost { return u.Known.Add(t.Cost(u.Unpriced, u.Model)) }

// Cost returns what the agent has cost so far.
func (l *Life) Cost(t *price.Table) price.Cost {
	sum := price.Cost{}
	for _, u := range l.Models {
		sum = sum.Add(u.Cost(t))
	}
	return sum
}

// use adds what one request has used. A missing cost is an unknown one. Copies
// of the life share the list, so it is replaced.
func (l *Life) use(id string, u model.Usage, cost *price.Cost) {
	l.Usage = l.Usage.Add(u)
	if u == (model.Usage{}) {
		return
	}
	l.Models = slices.Clone(l.Models)
	i := slices.IndexFunc(l.Models, func(m ModelUse) bool { return m.Model == id })
	if i < 0 {
		i, l.Models = len(l.Models), append(l.Models, ModelUse{Model: id})
	}
	m := &l.Models[i]
	m.Usage = m.Usage.Add(u)
	if cost == nil || cost.Unknown {
		m.Unpriced = m.Unpriced.Add(u)
	} else {
		m.Known = m.Known.Add(*cost)
	}
}

// priced is the cost to record for what one request has used; nil if no table
// knows one of the model's names.
func (s *Store) priced(u model.Usage, names ...string) *price.Cost {
	cost := s.opts.Prices.Cost(u, names...)
	if cost.Unknown {
		return nil
	}
	return &cost
}

// work moves the life on in the time of its turn.
func (l *Life) work(now time.Time) {
	if l.TurnOpen && now.After(l.Active) {
		l.Worked += now.Sub(l.Active)
	}
	l.Active = now
}
