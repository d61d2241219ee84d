package registry

import (
	"slices"
	"strings"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/transcript"
)

// Named returns the agents that have a name or id: those of the session's team
// first; the last that has ended for good only if nobody else has the name.
func (r *Registry) Named(name string) []*transcript.Transcript {
	r.mu.Lock()
	list := slices.Clone(r.names[strings.ToLower(strings.TrimPrefix(name, "@"))])
	r.mu.Unlock()
	if has := slices.DeleteFunc(slices.Clone(list), func(x holder) bool { return x.free }); len(has) > 0 {
		list = has
	} else if len(list) > 1 {
		list = list[len(list)-1:] // who had it last
	}
	own := r.policy.Team
	slices.SortStableFunc(list, func(a, b holder) int { return rank(a, own) - rank(b, own) })
	var all []*transcript.Transcript
	for _, x := range list {
		if t, ok := r.store.Get(x.id); ok {
			all = append(all, t)
		}
	}
	return all
}

// rank orders those of a name by team: own first.
func rank(x holder, own string) int {
	if x.team == own {
		return 0
	}
	return 1
}

// Unknown names the agents that a caller may have meant.
func (r *Registry) Unknown(name string) error {
	e := &agent.UnknownError{Name: name}
	for _, t := range r.store.All() {
		if s := t.Spec(); s.Role.IsAgent() && s.Role != agent.Lead {
			e.Known = append(e.Known, agent.DisplayName(s))
		}
	}
	slices.Sort(e.Known)
	e.Suggestions = agent.Suggest(name, e.Known)
	e.Known = e.Known[:min(len(e.Known), 20)]
	return e
}
