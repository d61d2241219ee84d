package swarm

import (
	"context"

	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
	"github.com/actorswarm/swarm/team/teamfile"
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

// TeamManager makes and changes the teams of a session. Its methods may be called from
// any goroutine; one change is made at a time.
type TeamManager struct{ s *Session }

// TeamManager returns what makes and changes the teams of the session.
func (s *Session) TeamManager() TeamManager { return TeamManager{s} }

// Up makes the team of a file: its members as teammates of the session's
// lead, its tasks on its list, and the teams that members lead. What is there
// already stays as it is, so doing it again changes nothing. The lead needs no
// turn for it.
func (m TeamManager) Up(ctx context.Context, f TeamFile) (team.Status, error) {
	if err := m.s.Begin(); err != nil {
		return team.Status{}, err
	}
	status, err := m.s.teams.Up(ctx, f)
	if err != nil {
		return status, err
	}
	return status, m.s.record.SetPrompt("team " + f.Name)
}

// List is Session.Teams.
func (m TeamManager) List() []team.Team { return m.s.Teams() }

// Status is Session.Team.
func (m TeamManager) Status(ctx context.Context, name string) (team.Status, error) {
	return m.s.Team(ctx, name)
}

// Teams returns the teams of the session, its own first.
func (s *Session) Teams() []team.Team { return s.roster.Teams() }

// Team returns how a team is, by name or id; "" is the session's own.
func (s *Session) Team(ctx context.Context, name string) (team.Status, error) {
	return s.teams.Status(ctx, name)
}

// Add brings a member into a team. One that is there stays as it is.
func (m TeamManager) Add(ctx context.Context, name string, member TeamMember) (team.Status, error) {
	if err := m.s.Begin(); err != nil {
		return team.Status{}, err
	}
	return m.s.teams.Add(ctx, name, member)
}

// Remove takes a member out of a team, and ends it for good unless it is in
// another; what it had taken is offered again. The team that it leads goes with
// it.
func (m TeamManager) Remove(ctx context.Context, name, member string) error {
	if err := m.s.Begin(); err != nil {
		return err
	}
	return m.s.teams.Remove(ctx, name, member)
}

// Down takes every member out of a team as Remove does. The team is gone
// then, unless it is the session's own.
func (m TeamManager) Down(ctx context.Context, name string) error {
	if err := m.s.Begin(); err != nil {
		return err
	}
	return m.s.teams.Down(ctx, name)
}

// Tasks returns the tasks of the session's list, lowest id first.
func (s *Session) Tasks(ctx context.Context) ([]board.Task, error) {
	b, err := s.boards.Get(ctx, s.node.TaskListOf(""))
	if err != nil {
		return nil, err
	}
	return b.List(), nil
}
