package node

import (
	"context"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team/board"
	"github.com/actorswarm/swarm/team/board/kvboard"
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
		if list == n.options.TaskList(n.options.Session) {
			list = ""
		}
		return archive.WriteTasks(session.Info{Path: n.options.Path}, list, tasks)
	})
}

// maxTasksShown is how many open tasks an agent is told of after a compaction.
const maxTasksShown = 50

// openTasksText adds the open tasks to what an agent is told after a compaction, if its
// session uses the list.
func (n *Node) openTasksText(a actors.Agent) string {
	var all []string
	for i, m := range n.Roster.Of(a.Transcript.Spec()) {
		of := "the shared list"
		if i > 0 {
			of = "the list of team " + m.Name
		}
		if text := n.openTasksOf(m.Team, of); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n")
}

func (n *Node) openTasksOf(team, of string) string {
	list, ok := n.Boards.Open(n.TaskListOf(team))
	if !ok {
		return ""
	}
	var lines []string
	for _, t := range list.List() {
		if t.Status == board.Completed {
			continue
		}
		line := fmt.Sprintf("- %s %s: %s", t.ID, t.Status, t.Subject)
		if t.Owner != "" {
			line += " (" + t.Owner + ")"
		}
		lines = append(lines, line)
	}
	switch n := len(lines); {
	case n == 0:
		return "No task of " + of + " is open."
	case n > maxTasksShown:
		lines = append(lines[:maxTasksShown], fmt.Sprintf("and %d more: TaskList", n-maxTasksShown))
	}
	return "Open tasks of " + of + ":\n" + strings.Join(lines, "\n")
}
