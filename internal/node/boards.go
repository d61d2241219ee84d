package node

import (
	"context"
	"fmt"
	"strings"

	"github.com/actorswarm/swarm/internal/archive"
	"github.com/actorswarm/swarm/internal/bus"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/session"
	"github.com/actorswarm/swarm/team/board"
	"github.com/actorswarm/swarm/team/board/kvboard"
)

// OpenBoard opens the bucket of a list of tasks of a session, once its bus is up. A
// server of others keeps as many replicas of it; 0 leaves that to the server.
func OpenBoard(ctx context.Context, b *bus.Bus, id, list string, replicas int) (board.Store, error) {
	conn, err := b.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return kvboard.Open(ctx, conn, taskBucket(id, list), kvboard.Options{Replicas: replicas})
}

// taskBucket returns the name of a list's bucket. Names of buckets consist of letters,
// digits, dashes and underscores; other bytes are written as their code.
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

// FollowBoards keeps the copies of the task lists up to date until the node's scope
// ends.
func (n *Node) FollowBoards() {
	n.Boards.Run(n.scope, n.exportTasks, func(err error) { n.Warn(err.Error()) })
}

// CloseBoards writes the copies of the task lists once more and closes the lists.
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

// maxTasksShown is how many open tasks are listed for an agent after a compaction.
const maxTasksShown = 50

// openTasksText lists the open tasks of an agent's teams, for its conversation after a
// compaction.
func (n *Node) openTasksText(a coordinator.Agent) string {
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
