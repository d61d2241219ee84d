package registry

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
)

// callKey identifies a tool call. Some providers use the ids of calls again in
// later answers, so the answer is part of it.
type callKey struct {
	parent mailbox.AgentID
	answer int // the number of the parent's answer with the call; 0: not recorded, as by older versions
	call   string
}

// holder is an agent with a name.
type holder struct {
	id   mailbox.AgentID
	team string // in which it has the name: the first that it was in
	free bool   // it has ended for good, and another may take the name
}

// Registry is safe for concurrent use.
type Registry struct {
	store  *transcript.Store
	policy spawn.Policy

	mu      sync.Mutex
	names   map[string][]holder                              // lower case, ids too; guarded by mu
	calls   map[callKey]mailbox.AgentID                      // the agent that a tool call made or woke; guarded by mu
	workers map[mailbox.AgentID]map[mailbox.AgentID]struct{} // by the agent that they work or worked for; guarded by mu
	count   int                                              // agents so far; guarded by mu
}

// New returns a registry of the agents in a store. The policy has its defaults.
func New(store *transcript.Store, policy spawn.Policy) *Registry {
	r := &Registry{
		store: store, policy: policy,
		names: map[string][]holder{}, calls: map[callKey]mailbox.AgentID{},
		workers: map[mailbox.AgentID]map[mailbox.AgentID]struct{}{},
	}
	for _, t := range store.All() {
		r.Add(t.Record())
	}
	return r
}

// Reserve takes the name of an agent that is to be made, and counts it. The error is an
// *agent.NameTakenError or a *spawn.LimitError.
func (r *Registry) Reserve(spec agent.Spec) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if limit := r.policy.MaxAgents; limit > 0 && r.count >= limit && spec.Role != agent.Lead {
		return &spawn.LimitError{What: "agents", Max: limit}
	}
	for _, owner := range r.names[strings.ToLower(spec.Name)] {
		isID := strings.EqualFold(string(owner.id), spec.Name)
		if isID || owner.team == r.namespace(spec) && !owner.free {
			return &agent.NameTakenError{Name: spec.Name, Owner: owner.id}
		}
	}
	r.add(spec)
	return nil
}

// Add adds an agent that is in the store, with the agent that it works for.
func (r *Registry) Add(l agent.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(l.Spec)
	r.addWorker(l.Woken, l.Spec.ID)
	if l.Shutdown.Leaving() || l.Closed && l.Reason == turn.ErrKilled.Error() && len(l.Spec.Teams) == 0 && l.Spec.Teams != nil {
		r.release(l.Spec)
	}
}

// AddWorker records that an agent works for another, by a tool call if there is one.
func (r *Registry) AddWorker(id mailbox.AgentID, w agent.Waking) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addWorker(w, id)
}

// addWorker is AddWorker with mu held.
func (r *Registry) addWorker(w agent.Waking, id mailbox.AgentID) {
	if w.By != "" {
		if r.workers[w.By] == nil {
			r.workers[w.By] = map[mailbox.AgentID]struct{}{}
		}
		r.workers[w.By][id] = struct{}{}
	}
	if w.Call != "" {
		r.calls[callKey{w.By, w.Answer, w.Call}] = id
	}
}

func (r *Registry) add(spec agent.Spec) {
	if _, known := r.names[string(spec.ID)]; !known {
		r.count++
		r.name(string(spec.ID), spec)
		if name := strings.ToLower(spec.Name); name != "" && name != string(spec.ID) {
			r.name(name, spec)
		}
	}
	r.addWorker(agent.Waking{By: spec.Parent, Answer: spec.Answer, Call: spec.Call}, spec.ID)
}

func (r *Registry) name(name string, s agent.Spec) {
	r.names[name] = append(r.names[name], holder{id: s.ID, team: r.namespace(s)})
}

// namespace returns the team in which an agent has its name: two teams may each have an
// agent of a name.
func (r *Registry) namespace(s agent.Spec) string {
	if teams := r.policy.Teams(s); len(teams) > 0 {
		return teams[0].Team
	}
	return r.policy.Team
}

// Unreserve undoes Reserve for an agent that was not made.
func (r *Registry) Unreserve(spec agent.Spec) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count--
	for _, name := range []string{string(spec.ID), strings.ToLower(spec.Name)} {
		left := slices.DeleteFunc(r.names[name], func(b holder) bool { return b.id == spec.ID })
		if r.names[name] = left; len(left) == 0 {
			delete(r.names, name)
		}
	}
	delete(r.workers[spec.Parent], spec.ID)
	delete(r.calls, callKey{spec.Parent, spec.Answer, spec.Call})
}

// Release releases the name of an agent that has ended for good.
func (r *Registry) Release(s agent.Spec) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.release(s)
}

func (r *Registry) release(s agent.Spec) {
	all := r.names[strings.ToLower(s.Name)]
	for i := range all {
		all[i].free = all[i].free || all[i].id == s.ID
	}
}

// Restore gives an agent the name back that was released.
func (r *Registry) Restore(s agent.Spec) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.names[strings.ToLower(s.Name)]
	for i := range all {
		all[i].free = all[i].free && all[i].id != s.ID
	}
}

// IsReleased reports whether the name of an agent was released.
func (r *Registry) IsReleased(s agent.Spec) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.names[strings.ToLower(s.Name)], func(x holder) bool { return x.id == s.ID && x.free })
}

// MadeBy returns the agent that a tool call of parent has made or woken, if it has. answer
// counts the parent's answers up to the one with the call.
func (r *Registry) MadeBy(parent mailbox.AgentID, answer int, call string) (mailbox.AgentID, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, ok := r.calls[callKey{parent, answer, call}]
	if !ok {
		id, ok = r.calls[callKey{parent, 0, call}]
	}
	return id, ok
}

// NewID returns an id that no agent of the session has. It begins with name, as
// far as an id can, so that people can distinguish agents and type their ids.
func (r *Registry) NewID(name string) mailbox.AgentID {
	r.mu.Lock()
	defer r.mu.Unlock()
	for { // eight digits can be typed, and may repeat
		id := newID(name)
		if _, taken := r.names[string(id)]; !taken {
			return id
		}
	}
}

func newID(name string) mailbox.AgentID {
	var b [4]byte
	rand.Read(b[:]) // never fails
	token := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r == '-', r == '_', r == ' ', r == '.', r == ':':
			return '-'
		}
		return -1
	}, strings.ToLower(name))
	token = strings.Trim(token[:min(len(token), 24)], "-")
	return mailbox.AgentID(cmp.Or(token, "agent") + "-" + hex.EncodeToString(b[:]))
}
