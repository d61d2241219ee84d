package spawn

import (
	"cmp"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/agent"
)

// Teams returns the teams that an agent is in or leads, the one it works in
// first. An agent without teams is, by its role, in the session's.
func (p Policy) Teams(s agent.Spec) []agent.Membership {
	switch {
	case s.Teams != nil:
		return s.Teams
	case s.Role == agent.Lead, s.Role == agent.Teammate, !s.Role.IsAgent():
		return []agent.Membership{p.SessionTeam()}
	}
	return nil
}

// SessionTeam is the team of the session, which its lead leads.
func (p Policy) SessionTeam() agent.Membership {
	name := cmp.Or(p.Team, "session")
	return agent.Membership{Team: name, Name: name, Lead: agent.LeadID}
}

// calledTeam returns the team that a new teammate of parent is to be in: the one
// that the call names among those that parent leads, or the one that it leads
// first; a teammate that leads none founds one.
func (p Policy) calledTeam(name string, parent agent.Spec) (agent.Membership, error) {
	var known []string
	for _, m := range p.Teams(parent) {
		if m.Lead == parent.ID && (name == "" || m.Is(name)) {
			m.Seeded = false
			return m, nil
		}
		known = append(known, m.Name)
	}
	if name != "" && !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) && !strings.EqualFold(name, p.SessionTeam().Name) {
		return agent.Membership{}, &UnknownTeamError{Team: name, Own: cmp.Or(strings.Join(known, ", "), p.SessionTeam().Name)}
	}
	return agent.Membership{Team: "team-" + string(parent.ID), Name: agent.DisplayName(parent), Lead: parent.ID}, nil
}
