package registry

import (
	"slices"
	"strings"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/transcript"
)

// Named returns the agents that have a name or id: those of the session's team
// first. An agent that has ended for good is returned only if no other has the name, and
// then the last of them.
func (r *Registry) Named(name string) []*transcript.Transcript {
	r.mu.Lock()
	list := slices.Clone(r.names[strings.ToLower(strings.TrimPrefix(name, "@"))])
	r.mu.Unlock()
	if has := slices.DeleteFunc(slices.Clone(list), func(x holder) bool { return x.free }); len(has) > 0 {
		list = has
	} else if len(list) > 1 {
		list = list[len(list)-1:] // the last that had it
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

// rank orders the holders of a name by team: own first.
func rank(x holder, own string) int {
	if x.team == own {
		return 0
	}
	return 1
}

// Unknown returns the error about a name that no agent has, with names that come near.
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
