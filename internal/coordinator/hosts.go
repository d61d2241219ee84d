package coordinator

import (
	"sync"

	"github.com/actorswarm/swarm/defs"
	"github.com/actorswarm/swarm/mailbox"
)

// hosts are the hosts of the agents that have one. The zero value is empty.
type hosts struct {
	mu sync.RWMutex
	of map[mailbox.AgentID]*host // guarded by mu
}

// get returns the host of an agent, or nil.
func (s *hosts) get(id mailbox.AgentID) *host {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.of[id]
}

func (s *hosts) put(h *host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[mailbox.AgentID]*host{}
	}
	s.of[h.t.ID()] = h
}

// remove removes a host, unless another has taken over, and reports whether it
// was there.
func (s *hosts) remove(h *host) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := s.of[h.t.ID()] == h
	if is {
		delete(s.of, h.t.ID())
	}
	return is
}

func (s *hosts) all() []*host {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]*host, 0, len(s.of))
	for _, h := range s.of {
		all = append(all, h)
	}
	return all
}

// definitions are those with which agents were planned, until their first turn: the
// file may change while an agent waits for a slot. The zero value is empty.
type definitions struct {
	mu sync.Mutex
	of map[mailbox.AgentID]defs.Definition // guarded by mu
}

func (s *definitions) put(id mailbox.AgentID, d defs.Definition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[mailbox.AgentID]defs.Definition{}
	}
	s.of[id] = d
}

// take returns and forgets the definition of an agent.
func (s *definitions) take(id mailbox.AgentID) (defs.Definition, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.of[id]
	delete(s.of, id)
	return d, ok
}
