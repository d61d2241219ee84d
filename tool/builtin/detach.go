package builtin

import (
	"fmt"
	"os"

	"github.com/actorswarm/swarm/tool"
)

// Detach lets the commands that the agent of a set waits for go on in the
// background and returns their ids there. Tools without commands are passed
// over.
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

// move is how a foreground command is asked to go on in the background.
type move struct {
	asked   chan struct{} // closed by who took it from bashTool.waited
	decided chan struct{} // closed when the command has been moved or has ended
	task    *task         // what it becomes
	moved   bool          // valid once decided
}

// movable lets Detach find the command that is about to be waited for.
func (b *bashTool) movable(line string, out *capture) *move {
	m := &move{asked: make(chan struct{}), decided: make(chan struct{}), task: newTask(newTaskID(), line, out)}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waited = m
	return m
}

// decide says what has become of a command that could be moved.
func (b *bashTool) decide(m *move, moved bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waited = nil // the commands of an agent run one at a time: it is m or nothing
	m.moved = moved
	close(m.decided)
}

// Detach implements Background.
func (b *bashTool) Detach() []Task {
	b.mu.Lock()
	m := b.waited
	b.waited = nil
	b.mu.Unlock()
	if m == nil || b.env.OutputDir == "" {
		return nil
	}
	close(m.asked)
	if <-m.decided; !m.moved {
		return nil // its end was faster
	}
	return []Task{m.task.snapshot()}
}

// goesOn makes a task of a command that is not waited for any more. What it
// has printed so far becomes the start of the task's file.
func (b *bashTool) goesOn(m *move, p *process, out *capture, report, note string) tool.Result {
	t := m.task
	if err := out.extend(maxTaskBytes); err != nil {
		fmt.Fprintf(out, "\n[the output could not be kept in a file: %v]\n", err)
	}
	t.report = report
	b.adopt(t, p, out)
	b.decide(m, true)
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

// forget removes the file in which the shell of a moved command has reported
// its folder: the agent's shell did not wait for it and stays where it is.
func (t *task) forget() error {
	if t.report == "" {
		return nil
	}
	return os.Remove(t.report)
}
