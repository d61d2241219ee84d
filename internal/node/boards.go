package node

import (
	"context"
	"fmt"
	"strings"

	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team/board"
	"github.com/actorswarm/swarm/team/board/kvboard"
	"github.com/nats-io/nats.go"
)

// OpenBoard opens the bucket of a list of tasks of a session. A server of others keeps
// as many replicas of it; 0 leaves that to the server.
func OpenBoard(ctx context.Context, conn *nats.Conn, id, list string, replicas int) (board.Store, error) {
	return kvboard.Open(ctx, conn, taskBucket(id, list), kvboard.Options{Replicas: replicas})
}

// taskBucket returns the name of the bucket of a list. Names of buckets take letters,
// digits, dashes and underscores; every other byte is written as its code.
func taskBucket(id, list string) string {
	var b strings.Builder
	b.WriteString("TB_" + id)
	if list == id {
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

// FollowBoards keeps the copies of the task lists current until the scope of the node
// ends.
func (n *Node) FollowBoards() {
	n.Boards.Run(n.scope, n.exportTasks, func(err error) { n.Warn(err.Error()) })
}

// CloseBoards writes the copies of the task lists a last time and closes the lists.
func (n *Node) CloseBoards() error {
	defer n.Boards.Close()
	return n.exportTasks()
}

// exportTasks writes the copies of the lists that were used.
func (n *Node) exportTasks() error {
	return n.Boards.Export(func(list string, tasks []board.Task) error {
		if list == n.o.TaskList(n.o.Session) {
			list = ""
		}
		return archive.WriteTasks(session.Info{Path: n.o.Path}, list, tasks)
	})
}
