package roster

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/teamfile"
)

// ManagerOptions configure a Manager. Both are required.
type ManagerOptions struct {
	Team string                   // id of the session's own team, which cannot be ended
	List func(team string) string // name of the task list of a team
}

// Manager starts, changes and ends teams, one change at a time. Its methods may be called
// from any goroutine.
type Manager struct {
	agents *coordinator.Coordinator
	roster *Roster
	boards *Boards
	o      ManagerOptions

	changing sync.Mutex // held during a change of teams
}

// NewManager returns the manager of the teams of some agents.
func NewManager(c *coordinator.Coordinator, r *Roster, b *Boards, o ManagerOptions) *Manager {
	return &Manager{agents: c, roster: r, boards: b, o: o}
}

// Up starts the team of a file: its members as teammates of the session's lead, its tasks
// on its list, and the teams that members lead. Members and tasks that exist stay as they
// are, so calling Up again changes nothing. The lead needs no turn for it.
func (m *Manager) Up(ctx context.Context, f teamfile.Team) (team.Status, error) {
	m.changing.Lock()
	defer m.changing.Unlock()
	lead, err := m.roster.Find(string(agent.LeadID))
	if err != nil {
		return team.Status{}, err
	}
	if err := m.check(f, lead.Spec()); err != nil {
		return team.Status{}, err
	}
	return m.up(ctx, f, lead)
}

func (m *Manager) up(ctx context.Context, f teamfile.Team, lead *transcript.Transcript) (team.Status, error) {
	in, err := m.find(f.Name, lead)
	if err != nil {
		return team.Status{}, err
	}
	seeds := seedsOf(in, f.Tasks)
	if err := m.seed(ctx, in, lead, seeds, m.roster.seed); err != nil { // before a member that may claim them works
		return team.Status{}, fmt.Errorf("the tasks of team %s: %w", f.Name, err)
	}
	var names []string
	for _, member := range f.Members {
		t, isNew, err := m.join(ctx, in, member)
		if err != nil {
			return team.Status{}, fmt.Errorf("%s: %w", memberPlace(f, member), err)
		}
		if isNew {
			names = append(names, member.Name)
		}
		if member.Leads != nil {
			below, err := m.up(ctx, *member.Leads, t)
			if err != nil {
				return team.Status{}, err
			}
			names = append(names, below.New...)
		}
	}
	err = m.seed(ctx, in, lead, seeds, m.roster.assign)
	if err == nil {
		err = m.markSeeded(in, lead, len(seeds))
	}
	if err != nil {
		return team.Status{}, fmt.Errorf("the tasks of team %s: %w", f.Name, err)
	}
	status, err := m.Status(ctx, in.Team)
	status.New = names
	return status, err
}

// find returns the team of a name that an agent leads, or a new one if there is none.
func (m *Manager) find(name string, lead *transcript.Transcript) (agent.Membership, error) {
	has := m.agents.Teams(lead.Spec())
	for _, in := range has {
		if in.Lead == lead.ID() && in.Name == name {
			return in, nil
		}
	}
	var id [4]byte
	rand.Read(id[:]) // never fails
	in := agent.Membership{Team: strings.ToLower(name) + "-" + hex.EncodeToString(id[:]), Name: name, Lead: lead.ID()}
	return in, lead.SetTeams(append(slices.Clone(has), in))
}

// join adds a member to a team, unless it is there; one that has ended for good is
// replaced.
func (m *Manager) join(ctx context.Context, in agent.Membership, member teamfile.Member) (t *transcript.Transcript, isNew bool, err error) {
	in.Seeded = false
	if member.Agent != "" {
		t, err := m.roster.Reach(agent.Spec{Role: agent.User}, member.Agent)
		if err != nil {
			return nil, false, err
		}
		has := m.agents.Teams(t.Spec())
		if slices.ContainsFunc(has, func(x agent.Membership) bool { return x.Team == in.Team }) {
			return t, false, nil
		}
		return t, true, t.SetTeams(append(slices.Clone(has), in))
	}
	if t, err := m.roster.Reach(agent.Spec{}, in.Team+"/"+member.Name); err == nil {
		if !m.agents.IsFinal(t.ID()) {
			return t, false, m.finish(t, member.Prompt)
		}
		if err := m.leave(ctx, in.Team, t); err != nil {
			return nil, false, err
		}
	}
	if why := mailbox.NameProblem(member.Name); why != "" {
		return nil, false, fmt.Errorf("the member's name, %q, %s", member.Name, why)
	}
	t, err = m.agents.StartTeammate(ctx, coordinator.Teammate{
		Team: in, Call: callOf(member), Color: member.Color, Budget: member.Budget,
		Restart: agent.Restart{Max: member.Restarts, Within: member.Within},
	})
	return t, err == nil, err
}

// finish gives a member its prompt if a crash came between its start and the prompt. One
// that was started without a prompt, and has done nothing since, gets its first.
func (m *Manager) finish(t *transcript.Transcript, prompt string) error {
	if prompt == "" || t.HasWork() || t.Record().Turns > 0 {
		return nil
	}
	return m.agents.FinishSpawn(nil, t, "", prompt)
}

// Add adds a member to a team. A member that exists stays as it is.
func (m *Manager) Add(ctx context.Context, name string, member teamfile.Member) (team.Status, error) {
	m.changing.Lock()
	defer m.changing.Unlock()
	t, err := m.roster.Team(name)
	if err != nil {
		return team.Status{}, err
	}
	_, isNew, err := m.join(ctx, agent.Membership{Team: t.ID, Name: t.Name, Lead: t.Lead}, member)
	if err != nil {
		return team.Status{}, err
	}
	status, err := m.Status(ctx, t.ID)
	if isNew {
		status.New = []string{member.Name}
	}
	return status, err
}

// Remove removes a member from a team, and ends it for good unless it is in another; its
// tasks are offered again. The team that it leads is removed with it.
func (m *Manager) Remove(ctx context.Context, name, member string) error {
	m.changing.Lock()
	defer m.changing.Unlock()
	in, err := m.roster.Team(name)
	if err != nil {
		return err
	}
	t, err := m.roster.Reach(agent.Spec{Role: agent.User}, in.ID+"/"+member)
	if err != nil {
		return err
	}
	if t.ID() == in.Lead {
		return fmt.Errorf("%s leads team %s: take the whole team down instead", member, in.Name)
	}
	return m.leave(ctx, in.ID, t)
}

// Down removes every member from a team as Remove does. The team then ends, unless it is
// the session's own.
func (m *Manager) Down(ctx context.Context, name string) error {
	m.changing.Lock()
	defer m.changing.Unlock()
	in, err := m.roster.Team(name)
	if err != nil {
		return err
	}
	return m.down(ctx, in)
}

func (m *Manager) down(ctx context.Context, in team.Team) error {
	errs := make([]error, len(in.Members))
	var all sync.WaitGroup
	for i, id := range in.Members {
		all.Go(func() {
			if t, ok := m.agents.Find(string(id)); ok {
				errs[i] = m.leave(ctx, in.ID, t)
			}
		})
	}
	all.Wait()
	lead, ok := m.agents.Find(string(in.Lead))
	if err := errors.Join(errs...); err != nil || !ok || in.ID == m.o.Team {
		return err
	}
	return lead.SetTeams(without(m.agents.Teams(lead.Spec()), in.ID))
}

func without(all []agent.Membership, id string) []agent.Membership {
	return slices.DeleteFunc(slices.Clone(all), func(x agent.Membership) bool { return x.Team == id })
}

// leave removes an agent from a team.
func (m *Manager) leave(ctx context.Context, teamID string, t *transcript.Transcript) error {
	left := without(m.agents.Teams(t.Spec()), teamID)
	if slices.ContainsFunc(left, func(x agent.Membership) bool { return x.Lead != t.ID() }) {
		return errors.Join(t.SetTeams(left), m.release(ctx, teamID, t.ID()))
	}
	for _, led := range m.roster.Teams() {
		if led.Lead == t.ID() {
			if err := m.down(ctx, led); err != nil {
				return err
			}
		}
	}
	if err := m.agents.Remove(ctx, t.ID()); err != nil {
		return err
	}
	return errors.Join(t.SetTeams(nil), m.release(ctx, teamID, t.ID()))
}

// release offers the tasks of an agent on a team's list again.
func (m *Manager) release(ctx context.Context, teamID string, id mailbox.AgentID) error {
	b, ok := m.boards.Open(m.o.List(teamID))
	if !ok {
		return nil
	}
	return b.Release(ctx, id)
}
