package roster

import (
	"context"

	"github.com/actorswarm/swarm/team"
)

// Status returns the status of a team, by name or id; "" is the session's own.
func (m *Manager) Status(ctx context.Context, name string) (team.Status, error) {
	t, err := m.roster.Team(name)
	if err != nil {
		return team.Status{}, err
	}
	status := team.StatusOf(t, m.agents.Status())
	b, err := m.boards.Get(ctx, m.o.List(t.ID))
	if err != nil {
		return status, err
	}
	status.Tasks = b.List()
	return status, nil
}
