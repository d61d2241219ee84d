package swarm

import (
	"context"
	"fmt"
	"strings"

	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/team/board"
	"github.com/actorswarm/swarm/team/board/kvboard"
)

// taskList is the name of the session's own list.
func (s *Session) taskList() string { return s.opts.config().TaskList(s.Info().ID) }

// openBoard opens the bucket of a list of tasks, on the session's bus.
func (s *Session) openBoard(ctx context.Context, list string) (board.Store, error) {
	conn, err := s.wire.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return kvboard.Open(ctx, conn, taskBucket(s.Info().ID, list), kvboard.Options{Replicas: s.opts.NATS.Replicas})
}

// followBoards exports the task lists when they have changed.
func (s *Session) followBoards() {
	s.watch.Go(func() {
		s.boards.Run(s.scope, s.exportTasks, func(err error) { s.node.Warn(err.Error()) })
	})
}

// taskBucket returns the name of the bucket of a list. Names of buckets take letters,
// digits, dashes and underscores; every other byte is written as its code.
func taskBucket(session, list string) string {
	var b strings.Builder
	b.WriteString("TB_" + session)
	if list == session {
		return b.String()
	}
	b.WriteByte('_')
	for _, c := range []byte(list) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

// Tasks returns the tasks of the session's list, lowest id first.
func (s *Session) Tasks(ctx context.Context) ([]board.Task, error) {
	b, err := s.boards.Get(ctx, s.taskList())
	if err != nil {
		return nil, err
	}
	return b.List(), nil
}

// exportTasks writes the copies of the lists that were used.
func (s *Session) exportTasks() error {
	return s.boards.Export(func(list string, tasks []board.Task) error {
		if list == s.taskList() {
			list = ""
		}
		return archive.WriteTasks(s.Info(), list, tasks)
	})
}
