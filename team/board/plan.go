package board

import "slices"

// plan is the part of a board that must change as one: the ids in use and the dependencies.
// It is one entry, so that a compare-and-set on it prevents cycles.
type plan struct {
	Last  int         `json:"last"`            // newest id
	Waits map[ID][]ID `json:"waits,omitempty"` // task → the tasks that it waits for
}

// add makes task wait for others, or returns the cycle that this would close.
func (p *plan) add(task ID, others []ID) error {
	for _, o := range others {
		if path := p.path(o, task, nil); path != nil {
			return &CycleError{Path: append([]ID{task}, path...)}
		}
		if slices.Contains(p.Waits[task], o) {
			continue
		}
		if p.Waits == nil {
			p.Waits = map[ID][]ID{}
		}
		p.Waits[task] = append(p.Waits[task], o)
	}
	return nil
}

// path returns the tasks through which from waits for to, both included, or nil.
func (p *plan) path(from, to ID, seen map[ID]bool) []ID {
	if from == to {
		return []ID{to}
	}
	if seen == nil {
		seen = map[ID]bool{}
	}
	if seen[from] {
		return nil
	}
	seen[from] = true
	for _, next := range p.Waits[from] {
		if rest := p.path(next, to, seen); rest != nil {
			return append([]ID{from}, rest...)
		}
	}
	return nil
}

// dependants returns the tasks that wait for id, lowest first.
func (p *plan) dependants(id ID) []ID {
	var all []ID
	for task, waits := range p.Waits {
		if slices.Contains(waits, id) {
			all = append(all, task)
		}
	}
	slices.SortFunc(all, byNumber)
	return all
}

func byNumber(a, b ID) int { return a.number() - b.number() }

func (p plan) clone() plan {
	c := plan{Last: p.Last, Waits: make(map[ID][]ID, len(p.Waits))}
	for id, waits := range p.Waits {
		c.Waits[id] = slices.Clone(waits)
	}
	return c
}
