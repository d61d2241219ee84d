package transcript

import (
	"slices"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/model"
)

// use adds what one request has used. A nil cost is unknown. Copies of the record share
// the list, so it is replaced.
func (s *state) use(id string, u model.Usage, cost *budget.Cost) {
	s.Usage = s.Usage.Add(u)
	if u == (model.Usage{}) {
		return
	}
	s.Models = slices.Clone(s.Models)
	i := slices.IndexFunc(s.Models, func(m agent.ModelUse) bool { return m.Model == id })
	if i < 0 {
		i, s.Models = len(s.Models), append(s.Models, agent.ModelUse{Model: id})
	}
	m := &s.Models[i]
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

// work adds the time since the last record to that of the turn.
func (s *state) work(now time.Time) {
	if s.TurnOpen && now.After(s.Active) {
		s.Worked += now.Sub(s.Active)
	}
	s.Active = now
}
