package swarm

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/actors/spawn"
	"github.com/actorswarm/swarm/internal/teamfile"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
)

// TeamFile is a team as a file says it; docs/teams.md describes the form.
type TeamFile = teamfile.Team

// TeamMember is a member of a TeamFile.
type TeamMember = teamfile.Member

// TeamTask is a task that a TeamFile begins with.
type TeamTask = teamfile.Task

// LoadTeam reads the team file that a name or path means, for somebody who works
// in dir: .claude/teams of dir and above, then of home.
func LoadTeam(dir, home, name string) (TeamFile, error) {
	return teamfile.Place{Dir: dir, Home: home}.Load(name)
}

// TeamNames returns the names of the teams for which there is a file.
func TeamNames(dir, home string) []string { return teamfile.Place{Dir: dir, Home: home}.Names() }

// TeamStatus is a look at a team.
type TeamStatus struct {
	team.Team
	Agents []actors.Status `json:"agents"` // the lead, then the members
	Tasks  []board.Task    `json:"tasks"`
	New    []string        `json:"new,omitempty"` // who came by this call
}

// TeamUp makes the team of a file: its members as teammates of the session's
// lead, its tasks on its list, and the teams that members lead. What is there
// already stays as it is, so doing it again changes nothing. The lead needs no
// turn for it.
func (s *Session) TeamUp(ctx context.Context, f TeamFile) (TeamStatus, error) {
	if err := s.Begin(); err != nil {
		return TeamStatus{}, err
	}
	s.teaming.Lock()
	defer s.teaming.Unlock()
	lead, err := s.roster.Find(string(actors.LeadID))
	if err != nil {
		return TeamStatus{}, err
	}
	if err := s.checkTeam(f, lead.Spec()); err != nil {
		return TeamStatus{}, err
	}
	status, err := s.teamUp(ctx, f, lead)
	if err != nil {
		return status, err
	}
	return status, s.notePrompt("team " + f.Name)
}

// checkTeam says what stands against a team that lead is to lead, so that a part of
// it is not made.
func (s *Session) checkTeam(f TeamFile, lead transcript.Spec) error {
	var errs []error
	for _, m := range f.Members {
		spec, err := s.checkMember(f.Name, lead, m)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", memberPlace(f, m), err))
		} else if m.Leads != nil {
			errs = append(errs, s.checkTeam(*m.Leads, spec))
		}
	}
	return errors.Join(errs...)
}

// memberPlace says which member of a file is meant.
func memberPlace(f TeamFile, m TeamMember) string {
	who := m.Name + " of team " + f.Name
	if f.Path == "" || m.Line == 0 {
		return who
	}
	return fmt.Sprintf("%s:%d: %s", f.Path, m.Line, who)
}

// checkMember returns the member that is there, or that would be made.
func (s *Session) checkMember(name string, lead transcript.Spec, m TeamMember) (transcript.Spec, error) {
	if m.Agent != "" {
		t, err := s.roster.Find(m.Agent)
		if err != nil {
			return transcript.Spec{}, err
		}
		return t.Spec(), nil
	}
	for _, in := range s.agents.Teams(lead) {
		if in.Lead != lead.ID || in.Name != name {
			continue
		}
		if t, err := s.roster.Reach(transcript.Spec{}, in.Team+"/"+m.Name); err == nil && !s.agents.IsFinal(t) {
			return t.Spec(), nil
		}
	}
	return s.agents.Plan(lead, actors.Hire{Team: transcript.Membership{Name: name, Lead: lead.ID}, Call: callOf(m)})
}

func (s *Session) teamUp(ctx context.Context, f TeamFile, lead *transcript.Transcript) (TeamStatus, error) {
	in, err := s.found(f.Name, lead)
	if err != nil {
		return TeamStatus{}, err
	}
	seeds := seedsOf(in, f.Tasks)
	if err := s.seed(ctx, in, lead, seeds, s.roster.Seed); err != nil { // before anybody who may look for them works
		return TeamStatus{}, fmt.Errorf("the tasks of team %s: %w", f.Name, err)
	}
	var names []string
	for _, m := range f.Members {
		t, isNew, err := s.join(ctx, in, m)
		if err != nil {
			return TeamStatus{}, fmt.Errorf("%s: %w", memberPlace(f, m), err)
		}
		if isNew {
			names = append(names, m.Name)
		}
		if m.Leads != nil {
			below, err := s.teamUp(ctx, *m.Leads, t)
			if err != nil {
				return TeamStatus{}, err
			}
			names = append(names, below.New...)
		}
	}
	err = s.seed(ctx, in, lead, seeds, s.roster.Entrust)
	if err == nil {
		err = s.markSeeded(in, lead, len(seeds))
	}
	if err != nil {
		return TeamStatus{}, fmt.Errorf("the tasks of team %s: %w", f.Name, err)
	}
	status, err := s.Team(ctx, in.Team)
	status.New = names
	return status, err
}

// found returns the team of a name that an agent leads; a new one if there is
// none.
func (s *Session) found(name string, lead *transcript.Transcript) (transcript.Membership, error) {
	has := s.agents.Teams(lead.Spec())
	for _, m := range has {
		if m.Lead == lead.ID() && m.Name == name {
			return m, nil
		}
	}
	var id [4]byte
	rand.Read(id[:]) // never fails
	m := transcript.Membership{Team: strings.ToLower(name) + "-" + hex.EncodeToString(id[:]), Name: name, Lead: lead.ID()}
	return m, lead.SetTeams(append(slices.Clone(has), m))
}

// join brings a member into a team, if it is not there; one that was ended for
// good is replaced.
func (s *Session) join(ctx context.Context, in transcript.Membership, m TeamMember) (t *transcript.Transcript, isNew bool, err error) {
	in.Seeded = false
	if m.Agent != "" {
		t, err := s.roster.Reach(transcript.Spec{Role: transcript.User}, m.Agent)
		if err != nil {
			return nil, false, err
		}
		has := s.agents.Teams(t.Spec())
		if slices.ContainsFunc(has, func(x transcript.Membership) bool { return x.Team == in.Team }) {
			return t, false, nil
		}
		return t, true, t.SetTeams(append(slices.Clone(has), in))
	}
	if t, err := s.roster.Reach(transcript.Spec{}, in.Team+"/"+m.Name); err == nil {
		if !s.agents.IsFinal(t) {
			return t, false, nil
		}
		if err := s.leave(ctx, in.Team, t); err != nil {
			return nil, false, err
		}
	}
	if why := mailbox.BadName(m.Name); why != "" {
		return nil, false, fmt.Errorf("the member's name, %q, %s", m.Name, why)
	}
	t, err = s.agents.Hire(ctx, actors.Hire{
		Team: in, Call: callOf(m), Color: m.Color, Budget: m.Budget,
		Restart: transcript.Restart{Max: m.Restarts, Within: m.Within},
	})
	return t, err == nil, err
}

func callOf(m TeamMember) spawn.Call {
	c := spawn.Call{
		Name: m.Name, Type: m.Type, Prompt: m.Prompt, Model: m.Model, Effort: m.Effort, Mode: m.Mode, Dir: m.Cwd, MaxTurns: m.MaxTurns,
		Description: firstLine(m.Prompt, 80),
	}
	if m.Worktree {
		c.Isolation = "worktree"
	}
	if m.PlanRequired {
		c.Mode = "plan"
	}
	return c
}

func seedsOf(in transcript.Membership, tasks []teamfile.Task) []team.Seed {
	seeds := make([]team.Seed, len(tasks))
	for i, t := range tasks {
		n := board.New{Subject: t.Subject, Description: t.Description, Writes: t.Writes, Owner: t.Owner}
		seeds[i] = team.Seed{Key: t.Key, After: t.After, New: n}
		if t.Owner != "" {
			seeds[i].Owner = in.Team + "/" + t.Owner
		}
	}
	return seeds
}

// seed does a step with the first tasks of a team, unless all has been done.
func (s *Session) seed(ctx context.Context, in transcript.Membership, lead *transcript.Transcript, seeds []team.Seed,
	step func(context.Context, *board.Board, *transcript.Transcript, []team.Seed) error,
) error {
	if in.Seeded || len(seeds) == 0 {
		return nil
	}
	b, err := s.boards.Get(ctx, s.listOf(in.Team))
	if err != nil {
		return err
	}
	return step(ctx, b, lead, seeds)
}

// markSeeded records that the first tasks of a team, if there are any, need not be
// put again.
func (s *Session) markSeeded(in transcript.Membership, lead *transcript.Transcript, tasks int) error {
	has := slices.Clone(s.agents.Teams(lead.Spec()))
	at := slices.IndexFunc(has, func(m transcript.Membership) bool { return m.Team == in.Team })
	if at < 0 || has[at].Seeded || tasks == 0 {
		return nil
	}
	has[at].Seeded = true
	return lead.SetTeams(has)
}

// Teams returns the teams of the session, its own first.
func (s *Session) Teams() []team.Team { return s.roster.Teams() }

// Team returns a look at a team, by name or id; "" is the session's own.
func (s *Session) Team(ctx context.Context, name string) (TeamStatus, error) {
	t, err := s.roster.Team(name)
	if err != nil {
		return TeamStatus{}, err
	}
	status := statusOf(t, s.agents.Status())
	b, err := s.boards.Get(ctx, s.listOf(t.ID))
	if err != nil {
		return status, err
	}
	status.Tasks = b.List()
	return status, nil
}

func statusOf(t team.Team, all []actors.Status) TeamStatus {
	status := TeamStatus{Team: t}
	for _, a := range all {
		switch id := a.Life.Spec.ID; {
		case id == t.Lead:
			status.Agents = slices.Insert(status.Agents, 0, a)
		case t.Has(id):
			status.Agents = append(status.Agents, a)
		}
	}
	return status
}

// PeekTeam is Session.Team of a session that does not run, with its tasks as
// they were when it ran last.
func PeekTeam(ctx context.Context, info Info, name string) (status TeamStatus, err error) {
	k, err := openKept(ctx, info, transcript.Options{ReadOnly: true})
	if err != nil {
		return TeamStatus{}, err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	t, err := team.NewRoster(k.agents).Team(name)
	if err != nil {
		return TeamStatus{}, err
	}
	status = statusOf(t, k.agents.Status())
	list := ""
	if t.ID != ownTeam(info.ID) {
		list = t.ID
	}
	status.Tasks, err = keptTasks(info, list)
	return status, err
}

// PeekTeams is Session.Teams of a session that does not run.
func PeekTeams(ctx context.Context, info Info) (all []team.Team, err error) {
	k, err := openKept(ctx, info, transcript.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	return team.NewRoster(k.agents).Teams(), k.close()
}

// TeamAdd brings a member into a team. One that is there stays as it is.
func (s *Session) TeamAdd(ctx context.Context, name string, m TeamMember) (TeamStatus, error) {
	if err := s.Begin(); err != nil {
		return TeamStatus{}, err
	}
	s.teaming.Lock()
	defer s.teaming.Unlock()
	t, err := s.roster.Team(name)
	if err != nil {
		return TeamStatus{}, err
	}
	_, isNew, err := s.join(ctx, transcript.Membership{Team: t.ID, Name: t.Name, Lead: t.Lead}, m)
	if err != nil {
		return TeamStatus{}, err
	}
	status, err := s.Team(ctx, t.ID)
	if isNew {
		status.New = []string{m.Name}
	}
	return status, err
}

// TeamRemove takes a member out of a team, and ends it for good unless it is in
// another; what it had taken is offered again. The team that it leads goes with
// it.
func (s *Session) TeamRemove(ctx context.Context, name, member string) error {
	if err := s.Begin(); err != nil {
		return err
	}
	s.teaming.Lock()
	defer s.teaming.Unlock()
	in, err := s.roster.Team(name)
	if err != nil {
		return err
	}
	t, err := s.roster.Reach(transcript.Spec{Role: transcript.User}, in.ID+"/"+member)
	if err != nil {
		return err
	}
	if t.ID() == in.Lead {
		return fmt.Errorf("%s leads team %s: take the whole team down instead", member, in.Name)
	}
	return s.leave(ctx, in.ID, t)
}

// TeamDown takes every member out of a team as TeamRemove does. The team is gone
// then, unless it is the session's own.
func (s *Session) TeamDown(ctx context.Context, name string) error {
	if err := s.Begin(); err != nil {
		return err
	}
	s.teaming.Lock()
	defer s.teaming.Unlock()
	in, err := s.roster.Team(name)
	if err != nil {
		return err
	}
	return s.teamDown(ctx, in)
}

func (s *Session) teamDown(ctx context.Context, in team.Team) error {
	errs := make([]error, len(in.Members))
	var all sync.WaitGroup
	for i, id := range in.Members {
		all.Go(func() {
			if t, ok := s.store.Get(id); ok {
				errs[i] = s.leave(ctx, in.ID, t)
			}
		})
	}
	all.Wait()
	lead, ok := s.store.Get(in.Lead)
	if err := errors.Join(errs...); err != nil || !ok || in.ID == s.policy().Team {
		return err
	}
	return lead.SetTeams(without(s.agents.Teams(lead.Spec()), in.ID))
}

func without(all []transcript.Membership, id string) []transcript.Membership {
	return slices.DeleteFunc(slices.Clone(all), func(m transcript.Membership) bool { return m.Team == id })
}

// leave takes an agent out of a team.
func (s *Session) leave(ctx context.Context, teamID string, t *transcript.Transcript) error {
	left := without(s.agents.Teams(t.Spec()), teamID)
	if slices.ContainsFunc(left, func(m transcript.Membership) bool { return m.Lead != t.ID() }) {
		return errors.Join(t.SetTeams(left), s.releaseTasks(ctx, teamID, t.ID()))
	}
	for _, m := range s.roster.Teams() {
		if m.Lead == t.ID() {
			if err := s.teamDown(ctx, m); err != nil {
				return err
			}
		}
	}
	if err := s.agents.Dismiss(ctx, t); err != nil {
		return err
	}
	return errors.Join(t.SetTeams(nil), s.releaseTasks(ctx, teamID, t.ID()))
}

// releaseTasks offers again what an agent has taken of a team's list.
func (s *Session) releaseTasks(ctx context.Context, teamID string, id mailbox.AgentID) error {
	b, ok := s.boards.Open(s.listOf(teamID))
	if !ok {
		return nil
	}
	return b.Release(ctx, id)
}
