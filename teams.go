package swarm

import (
	"context"

	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/team/board"
	"github.com/actorswarm/swarm/team/teamfile"
)

// TeamFile is a team as described in a file; see docs/teams.md.
type TeamFile = teamfile.Team

// TeamMember is a member of a TeamFile.
type TeamMember = teamfile.Member

// TeamTask is a task that a TeamFile begins with.
type TeamTask = teamfile.Task

// LoadTeam reads the team file with a name or path, for a user who works in dir: it
// searches .claude/teams of dir and above, then of home.
func LoadTeam(dir, home, name string) (TeamFile, error) {
	return teamfile.Place{Dir: dir, Home: home}.Load(name)
}

// TeamNames returns the names of the teams that have a file.
func TeamNames(dir, home string) []string { return teamfile.Place{Dir: dir, Home: home}.Names() }

// TeamManager starts and changes the teams of a session. Its methods may be called from any
// goroutine and make one change at a time.
type TeamManager struct{ s *Session }

// TeamManager returns the manager of the session's teams.
func (s *Session) TeamManager() TeamManager { return TeamManager{s} }

// Up starts the team of a file: its members as teammates of the session's lead, its tasks
// on its list, and the teams that members lead. Members and tasks that exist stay as they
// are, so calling Up again changes nothing. The lead needs no turn for it.
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

// Team returns the status of a team, by name or id; "" is the session's own.
func (s *Session) Team(ctx context.Context, name string) (team.Status, error) {
	return s.teams.Status(ctx, name)
}

// Add adds a member to a team. A member that exists stays as it is.
func (m TeamManager) Add(ctx context.Context, name string, member TeamMember) (team.Status, error) {
	if err := m.s.Begin(); err != nil {
		return team.Status{}, err
	}
	return m.s.teams.Add(ctx, name, member)
}

// Remove removes a member from a team, and ends it for good unless it is in another; its
// tasks are offered again. The team that it leads is removed with it.
func (m TeamManager) Remove(ctx context.Context, name, member string) error {
	if err := m.s.Begin(); err != nil {
		return err
	}
	return m.s.teams.Remove(ctx, name, member)
}

// Down removes every member from a team as Remove does. The team then ends, unless it is
// the session's own.
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
