package roster

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
)

// Teams returns the teams of the session, its own first.
func (r *Roster) Teams() []team.Team {
	var all []team.Team
	at := map[string]int{}
	for _, s := range r.agents.Status() {
		spec := s.Record.Spec
		if spec.Role == agent.User {
			continue
		}
		for _, m := range r.agents.Teams(spec) {
			i, known := at[m.Team]
			if !known {
				i, at[m.Team] = len(all), len(all)
				all = append(all, team.Team{ID: m.Team, Name: m.Name, Lead: m.Lead})
			}
			switch {
			case spec.ID == m.Lead:
				all[i].Seeded = m.Seeded
			default:
				all[i].Members = append(all[i].Members, spec.ID)
			}
		}
	}
	return all
}

// Team returns the team with a name or id; empty is the session's own. The error is an
// *UnknownTeamError, or reports that several teams have the name.
func (r *Roster) Team(name string) (team.Team, error) {
	var found []team.Team
	var known []string
	all := r.Teams()
	for _, t := range all {
		known = append(known, t.Name)
		if t.ID == name {
			return t, nil
		}
		if strings.EqualFold(t.Name, name) {
			found = append(found, t)
		}
	}
	switch {
	case name == "" && len(all) > 0:
		return all[0], nil
	case len(found) == 0:
		return team.Team{}, &team.UnknownTeamError{Name: name, Known: known}
	case len(found) > 1:
		return team.Team{}, fmt.Errorf("several teams are named %q: say which by its id, %s or %s", name, found[0].ID, found[1].ID)
	}
	return found[0], nil
}

// Reach returns the one agent that a name of from's means: a member of its own team before
// others of the name, team-lead for the lead of its team, team/name for a member of
// another. It may have ended. The error is an *UnknownAgentError or an
// *actors.AmbiguousNameError, or concerns the team.
func (r *Roster) Reach(from agent.Spec, name string) (*transcript.Transcript, error) {
	if team, member, ok := strings.Cut(name, "/"); ok && team != "" && member != "" {
		return r.reachIn(team, member)
	}
	if strings.EqualFold(name, agent.LeadName) || strings.EqualFold(name, "lead") {
		return r.named(string(r.agents.Home(from).Lead))
	}
	all := r.agents.Named(name)
	if len(all) < 2 {
		return r.named(name)
	}
	var mine []*transcript.Transcript
	for _, t := range all {
		if r.share(from, t.Spec()) {
			mine = append(mine, t)
		}
	}
	switch len(mine) {
	case 0:
		return nil, r.ambiguous(name, all)
	case 1:
		return mine[0], nil
	}
	return nil, r.ambiguous(name, mine)
}

func (r *Roster) ambiguous(name string, all []*transcript.Transcript) error {
	e := &actors.AmbiguousNameError{Name: name}
	for _, t := range all {
		e.Teams = append(e.Teams, r.agents.Home(t.Spec()).Name)
	}
	return e
}

// share reports whether two agents are in one team.
func (r *Roster) share(a, b agent.Spec) bool {
	theirs := r.agents.Teams(b)
	for _, mine := range append(r.agents.Teams(a), r.agents.Home(a)) {
		if slices.ContainsFunc(theirs, func(m agent.Membership) bool { return m.Team == mine.Team }) {
			return true
		}
	}
	return false
}

func (r *Roster) reachIn(team, member string) (*transcript.Transcript, error) {
	in, err := r.Team(team)
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(member, agent.LeadName) || strings.EqualFold(member, "lead") {
		return r.named(string(in.Lead))
	}
	for _, t := range r.agents.Named(member) {
		if in.Has(t.ID()) || slices.ContainsFunc(r.agents.Teams(t.Spec()), func(m agent.Membership) bool { return m.Team == in.ID }) {
			return t, nil
		}
	}
	return nil, r.unknownIn(in, member)
}

func (r *Roster) unknownIn(in team.Team, member string) error {
	e := &team.UnknownAgentError{Name: in.Name + "/" + member}
	for _, id := range append([]mailbox.AgentID{in.Lead}, in.Members...) {
		if t, ok := r.agents.Find(string(id)); ok {
			e.Known = append(e.Known, in.Name+"/"+agent.DisplayName(t.Spec()))
		}
	}
	e.Suggestions = agent.Suggest(e.Name, e.Known)
	return e
}

// audience returns the receivers among all of a message to everyone: all agents of the
// session, or the sender's team if that is another than the session's.
func (r *Roster) audience(from agent.Spec, all []actors.Status) []actors.Status {
	home := r.agents.Home(from)
	if home.Lead == agent.LeadID && home == r.agents.Home(agent.Spec{Role: agent.Lead}) {
		return all
	}
	known := slices.Clone(all)
	return slices.DeleteFunc(all, func(s actors.Status) bool {
		return s.Record.Spec.ID != home.Lead && r.home(s.Record.Spec, known).Team != home.Team
	})
}

// home is Coordinator.Home for an agent among agents of which some are not on record here.
func (r *Roster) home(s agent.Spec, all []actors.Status) agent.Membership {
	for len(r.agents.Teams(s)) == 0 {
		above := slices.IndexFunc(all, func(a actors.Status) bool { return a.Record.Spec.ID == s.Parent })
		if above < 0 {
			break
		}
		s = all[above].Record.Spec
	}
	return r.agents.Home(s)
}

// Of returns the teams that an agent is in or leads, its first team first.
func (r *Roster) Of(s agent.Spec) []agent.Membership {
	home := r.agents.Home(s)
	all := []agent.Membership{home}
	for _, m := range r.agents.Teams(s) {
		if m.Team != home.Team {
			all = append(all, m)
		}
	}
	for _, t := range r.Teams() {
		if t.Lead == s.ID && !slices.ContainsFunc(all, func(m agent.Membership) bool { return m.Team == t.ID }) {
			all = append(all, agent.Membership{Team: t.ID, Name: t.Name, Lead: t.Lead})
		}
	}
	return all
}

// errNotYours is the error of a call for a list of a team that the agent is not in.
func errNotYours(name string, mine []agent.Membership) error {
	var all []string
	for _, m := range mine {
		all = append(all, m.Name)
	}
	return errors.New("you are in no team " + name + "; your teams are: " + strings.Join(all, ", "))
}
