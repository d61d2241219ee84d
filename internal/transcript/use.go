package transcript

import (
	"slices"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/model"
)

// use adds what one request has used. A missing cost is an unknown one. Copies
// of the life share the list, so it is replaced.
func (l *life) use(id string, u model.Usage, cost *budget.Cost) {
	l.Usage = l.Usage.Add(u)
	if u == (model.Usage{}) {
		return
	}
	l.Models = slices.Clone(l.Models)
	i := slices.IndexFunc(l.Models, func(m agent.ModelUse) bool { return m.Model == id })
	if i < 0 {
		i, l.Models = len(l.Models), append(l.Models, agent.ModelUse{Model: id})
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
func (s *Store) priced(u model.Usage, names ...string) *budget.Cost {
	cost := s.opts.Prices.Cost(u, names...)
	if cost.Unknown {
		return nil
	}
	return &cost
}

// work moves the life on in the time of its turn.
func (l *life) work(now time.Time) {
	if l.TurnOpen && now.After(l.Active) {
		l.Worked += now.Sub(l.Active)
	}
	l.Active = now
}
