package builtin

import (
	"fmt"
	"os"

	"github.com/actorswarm/swarm/tool"
)

// Detach moves the foreground commands of a set to the background and returns their ids
// there. It ignores tools without commands.
func Detach(tools []tool.Tool) []string {
	var ids []string
	for _, t := range tools {
		if b, ok := t.(Background); ok {
			for _, moved := range b.Detach() {
				ids = append(ids, moved.ID)
			}
		}
	}
	return ids
}

// move is a request to move a foreground command to the background.
type move struct {
	asked   chan struct{} // closed by whoever took it from bashTool.foregroundMove
	decided chan struct{} // closed when the command has been moved or has ended
	task    *task         // the new task
	moved   bool          // valid once decided
}

// movable lets Detach find the command that is about to run in the foreground.
func (b *bashTool) movable(line string, out *capture) *move {
	m := &move{asked: make(chan struct{}), decided: make(chan struct{}), task: newTask(newTaskID(), line, out)}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.foregroundMove = m
	return m
}

// resolveMove records whether a command was moved.
func (b *bashTool) resolveMove(m *move, moved bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.foregroundMove = nil // the commands of an agent run one at a time, so it is m or nil
	m.moved = moved
	close(m.decided)
}

// Detach implements Background.
func (b *bashTool) Detach() []Task {
	b.mu.Lock()
	m := b.foregroundMove
	b.foregroundMove = nil
	b.mu.Unlock()
	if m == nil || b.env.OutputDir == "" {
		return nil
	}
	close(m.asked)
	if <-m.decided; !m.moved {
		return nil // it has ended before
	}
	return []Task{m.task.snapshot()}
}

// moveToBackground makes a task of a foreground command. Its output so far becomes the
// start of the task's file.
func (b *bashTool) moveToBackground(m *move, p *process, out *capture, report, note string) tool.Result {
	t := m.task
	if err := out.extend(maxTaskBytes); err != nil {
		fmt.Fprintf(out, "\n[the output could not be kept in a file: %v]\n", err)
	}
	t.report = report
	b.register(t, p, out)
	b.resolveMove(m, true)
	text := fmt.Sprintf("The user moved this command to the background, where it runs on as %s. All of its output goes to %s; Read that file to see it. "+
		"You are told when it ends.", t.info.ID, out.path())
	if note != "" {
		text += " (" + note + ")"
	}
	if soFar := out.text(); soFar != "" {
		text += "\nIts output so far:\n" + soFar
	}
	return tool.Result{Text: text, Detail: bashDetail{TaskID: t.info.ID, Path: out.path()}.encode()}
}

// removeReport removes the file for the working directory of a moved command: it does not
// change that of the agent's shell.
func (t *task) removeReport() error {
	if t.report == "" {
		return nil
	}
	return os.Remove(t.report)
}
