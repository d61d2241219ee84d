package swarm

import (
	"context"

	"github.com/actorswarm/swarm/internal/node"
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

// TeamUp makes the team of a file: its members as teammates of the session's
// lead, its tasks on its list, and the teams that members lead. What is there
// already stays as it is, so doing it again changes nothing. The lead needs no
// turn for it.
func (s *Session) TeamUp(ctx context.Context, f TeamFile) (team.Status, error) {
	if err := s.Begin(); err != nil {
		return team.Status{}, err
	}
	status, err := s.teams.Up(ctx, f)
	if err != nil {
		return status, err
	}
	return status, s.record.NotePrompt("team " + f.Name)
}

// Teams returns the teams of the session, its own first.
func (s *Session) Teams() []team.Team { return s.roster.Teams() }

// Team returns how a team is, by name or id; "" is the session's own.
func (s *Session) Team(ctx context.Context, name string) (team.Status, error) {
	return s.teams.Status(ctx, name)
}

// TeamAdd brings a member into a team. One that is there stays as it is.
func (s *Session) TeamAdd(ctx context.Context, name string, m TeamMember) (team.Status, error) {
	if err := s.Begin(); err != nil {
		return team.Status{}, err
	}
	return s.teams.Add(ctx, name, m)
}

// TeamRemove takes a member out of a team, and ends it for good unless it is in
// another; what it had taken is offered again. The team that it leads goes with
// it.
func (s *Session) TeamRemove(ctx context.Context, name, member string) error {
	if err := s.Begin(); err != nil {
		return err
	}
	return s.teams.Remove(ctx, name, member)
}

// TeamDown takes every member out of a team as TeamRemove does. The team is gone
// then, unless it is the session's own.
func (s *Session) TeamDown(ctx context.Context, name string) error {
	if err := s.Begin(); err != nil {
		return err
	}
	return s.teams.Down(ctx, name)
}

// taskList is the name of the session's own list.
func (s *Session) taskList() string { return s.opts.config().TaskList(s.Info().ID) }

// openBoard opens the bucket of a list of tasks, on the session's bus.
func (s *Session) openBoard(ctx context.Context, list string) (board.Store, error) {
	conn, err := s.bus.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return node.OpenBoard(ctx, conn, s.Info().ID, list, s.opts.NATS.Replicas)
}

// Tasks returns the tasks of the session's list, lowest id first.
func (s *Session) Tasks(ctx context.Context) ([]board.Task, error) {
	b, err := s.boards.Get(ctx, s.taskList())
	if err != nil {
		return nil, err
	}
	return b.List(), nil
}
