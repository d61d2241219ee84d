package swarm

import (
	"context"

	"github.com/actorswarm/swarm/internal/node"
	"github.com/actorswarm/swarm/team/board"
)

// taskList is the name of the session's own list.
func (s *Session) taskList() string { return s.opts.config().TaskList(s.Info().ID) }

// openBoard opens the bucket of a list of tasks, on the session's bus.
func (s *Session) openBoard(ctx context.Context, list string) (board.Store, error) {
	conn, err := s.wire.Conn(ctx)
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
