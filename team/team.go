package team

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
)

// Team is some agents that work together under a lead. It follows from the
// memberships that are recorded with each agent; nothing else holds it.
type Team struct {
	ID      string            `json:"id"`   // generated: no two teams have the same
	Name    string            `json:"name"` // for people and models; several teams may have it
	Lead    mailbox.AgentID   `json:"lead"`
	Members []mailbox.AgentID `json:"members"` // without the lead, oldest first
	Seeded  bool              `json:"seeded"`  // its first tasks are on the list
}

// Own returns the id, and the name, of the team that a session has by itself.
func Own(session string) string { return "session-" + session[:min(len(session), 8)] }

// List is the name of the team's task list.
func (t Team) List() string { return t.ID }

// Has reports whether an agent is in the team or leads it.
func (t Team) Has(id mailbox.AgentID) bool { return t.Lead == id || slices.Contains(t.Members, id) }

// Teams returns the teams of the session, its own first.
func (r *Roster) Teams() []Team {
	var all []Team
	at := map[string]int{}
	for _, s := range r.agents.Status() {
		spec := s.Life.Spec
		if spec.Role == agent.User {
			continue
		}
		for _, m := range r.agents.Teams(spec) {
			i, known := at[m.Team]
			if !known {
				i, at[m.Team] = len(all), len(all)
				all = append(all, Team{ID: m.Team, Name: m.Name, Lead: m.Lead})
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

// Team returns the team that a name or id means; empty is the session's own.
// The error is an *UnknownTeamError, or says that several have the name.
func (r *Roster) Team(name string) (Team, error) {
	var found []Team
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
		return Team{}, &UnknownTeamError{Name: name, Known: known}
	case len(found) > 1:
		return Team{}, fmt.Errorf("several teams are named %q: say which by its id, %s or %s", name, found[0].ID, found[1].ID)
	}
	return found[0], nil
}

// UnknownTeamError reports a team that is not there.
type UnknownTeamError struct {
	Name  string
	Known []string
}

func (e *UnknownTeamError) Error() string {
	text := fmt.Sprintf("there is no team named %q", e.Name)
	if near := Near(e.Name, e.Known); len(near) > 0 {
		return text + "; did you mean " + strings.Join(near, " or ") + "?"
	}
	if len(e.Known) == 0 {
		return text + " (there are none)"
	}
	return text + " (known: " + strings.Join(e.Known, ", ") + ")"
}

// Reach returns the one agent that a name means when from says it: a member of
// its own team before others of the name, team-lead for the lead of its team,
// team/name for a member of another. It may have ended. The error is an
// *UnknownAgentError or an *actors.AmbiguousNameError, or is about the team.
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

func (r *Roster) unknownIn(in Team, member string) error {
	e := &UnknownAgentError{Name: in.Name + "/" + member}
	for _, id := range append([]mailbox.AgentID{in.Lead}, in.Members...) {
		if t, ok := r.agents.Find(string(id)); ok {
			e.Known = append(e.Known, in.Name+"/"+agent.DisplayName(t.Spec()))
		}
	}
	e.Near = Near(e.Name, e.Known)
	return e
}

// audience returns whom of all a letter to everyone is for: all agents of the
// session or, from somebody whose team is another than the session's, that team.
func (r *Roster) audience(from agent.Spec, all []actors.Status) []actors.Status {
	home := r.agents.Home(from)
	if home.Lead == agent.LeadID && home == r.agents.Home(agent.Spec{Role: agent.Lead}) {
		return all
	}
	known := slices.Clone(all)
	return slices.DeleteFunc(all, func(s actors.Status) bool {
		return s.Life.Spec.ID != home.Lead && r.home(s.Life.Spec, known).Team != home.Team
	})
}

// home is Coordinator.Home of an agent among some of whom not all are on record here.
func (r *Roster) home(s agent.Spec, all []actors.Status) agent.Membership {
	for len(r.agents.Teams(s)) == 0 {
		above := slices.IndexFunc(all, func(a actors.Status) bool { return a.Life.Spec.ID == s.Parent })
		if above < 0 {
			break
		}
		s = all[above].Life.Spec
	}
	return r.agents.Home(s)
}

// Of returns the teams that an agent is in or leads, the one it works in first.
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

// errNotYours is the answer to a call about a list of a team the agent is not in.
func errNotYours(name string, mine []agent.Membership) error {
	var all []string
	for _, m := range mine {
		all = append(all, m.Name)
	}
	return errors.New("you are in no team " + name + "; your teams are: " + strings.Join(all, ", "))
}
