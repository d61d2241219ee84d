package registry

import (
	"cmp"
	"maps"
	"slices"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// ReportsTo returns the agent that gets the report of a background agent's end: the one
// that it works for or, depending on its link, the nearest above that has not ended.
func (r *Registry) ReportsTo(l agent.Record) mailbox.AgentID {
	up := WorksFor(l)
	if l.Spec.Link == agent.Continue {
		return up
	}
	for up != agent.LeadID {
		t, ok := r.store.Get(up)
		if !ok {
			return agent.LeadID
		}
		above := t.Record()
		if !above.Closed {
			return up
		}
		up = WorksFor(above)
	}
	return up
}

// Employer returns the agent that another works for after by has woken it. No agent
// comes to work for itself, however many are between: an agent that is woken by one that
// works for it goes on for the agent that it worked for before, and so does one that is
// woken by an agent that is not on record here.
func (r *Registry) Employer(l agent.Record, by mailbox.AgentID) mailbox.AgentID {
	for _, candidate := range []mailbox.AgentID{by, l.Spec.Parent} {
		if _, known := r.store.Get(candidate); known && candidate != agent.UserID && !r.IsBelow(candidate, l.Spec.ID) {
			if candidate == l.Spec.Parent {
				return ""
			}
			return candidate
		}
	}
	return agent.LeadID
}

// IsBelow reports whether an agent is another or works for it, directly or not.
func (r *Registry) IsBelow(id, top mailbox.AgentID) bool {
	for id != "" && id != agent.LeadID {
		if id == top {
			return true
		}
		t, ok := r.store.Get(id)
		if !ok {
			return false
		}
		id = WorksFor(t.Record())
	}
	return id == top
}

// Workers returns the agents that work for another, ended ones included.
func (r *Registry) Workers(id mailbox.AgentID) []*transcript.Transcript {
	r.mu.Lock()
	ids := slices.Sorted(maps.Keys(r.workers[id]))
	r.mu.Unlock()
	var all []*transcript.Transcript
	for _, kid := range ids {
		if t, ok := r.store.Get(kid); ok && WorksFor(t.Record()) == id {
			all = append(all, t)
		}
	}
	return all
}

// WorksFor returns the agent that another works for: the one that woke it, or its parent.
// Employer makes sure that there is no cycle.
func WorksFor(l agent.Record) mailbox.AgentID { return cmp.Or(l.Woken.By, l.Spec.Parent) }

// Home returns the team in which an agent works: its first, or that of the
// nearest above it that has one.
func (r *Registry) Home(s agent.Spec) agent.Membership {
	for {
		if teams := r.policy.Teams(s); len(teams) > 0 {
			return teams[0]
		}
		above, ok := r.store.Get(s.Parent)
		if !ok {
			return r.policy.SessionTeam()
		}
		s = above.Spec()
	}
}

// LeadOf returns the agent that gets the reports of a teammate's turns: the lead of its
// team or, if that has ended, the lead of that agent's team.
func (r *Registry) LeadOf(s agent.Spec) mailbox.AgentID {
	for range r.policy.MaxDepth + 1 {
		up := r.Home(s).Lead
		t, ok := r.store.Get(up)
		switch {
		case !ok, up == s.ID:
			return agent.LeadID
		case !t.Record().Closed:
			return up
		}
		s = t.Spec()
	}
	return agent.LeadID
}

// Leads reports whether an agent leads a team that another is in.
func (r *Registry) Leads(id mailbox.AgentID, s agent.Spec) bool {
	return slices.ContainsFunc(r.policy.Teams(s), func(m agent.Membership) bool { return m.Lead == id })
}

// Tree returns an agent and all that work for it, each after the one that it
// works for.
func (r *Registry) Tree(id mailbox.AgentID) []*transcript.Transcript {
	top, ok := r.store.Get(id)
	if !ok {
		return nil
	}
	all, seen := []*transcript.Transcript{top}, map[mailbox.AgentID]bool{id: true}
	for i := 0; i < len(all); i++ {
		for _, kid := range r.Workers(all[i].ID()) {
			if !seen[kid.ID()] {
				seen[kid.ID()] = true
				all = append(all, kid)
			}
		}
	}
	return all
}

// MayControl reports whether from may send control messages to an agent: the
// user, the lead, the lead of a team that it is in, the agent that started it, and the
// one that woke it.
func (r *Registry) MayControl(from mailbox.AgentID, l agent.Record) bool {
	switch from {
	case "":
		return false
	case agent.UserID, agent.LeadID, l.Spec.Parent, l.Woken.By:
		return true
	}
	return r.Leads(from, l.Spec)
}
