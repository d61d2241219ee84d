package builtin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/actorswarm/swarm/tool"
)

// Background is implemented by the Bash tool of a set: the commands that were
// started with run_in_background. All methods may be called concurrently.
type Background interface {
	// List returns every background command of the agent, in the order of
	// their start, ended ones included.
	List() []Task
	// Detach lets the command that the agent waits for, if there is one, go on
	// in the background: its call returns at once, and what it has printed and
	// will print is in the task's file. It returns the tasks made, after the
	// command was moved or has ended instead.
	Detach() []Task
	// Stop ends a command and returns when its processes are gone, at most
	// some three seconds later. Stopping an ended command is no error; the
	// error names the known ids when there is no such command.
	Stop(id string) error
	// Output returns what a command has printed, once it has ended or when ctx
	// ends; known is false when there is no such command.
	Output(ctx context.Context, id string) (r tool.Result, known bool)
}

// TaskState is where a background command stands.
type TaskState string

// A command runs, has ended by itself, or was ended.
const (
	TaskRunning TaskState = "running"
	TaskExited  TaskState = "exited"
	TaskStopped TaskState = "stopped"
)

// Task is a background command.
type Task struct {
	ID      string
	Command string
	Output  string // path of the file with its output
	State   TaskState
	// ExitCode is 128 plus the number of the signal if one ended the command;
	// valid once it is not running.
	ExitCode int
	// Reason says why the command was stopped, nil unless it was.
	Reason  error
	Started time.Time
	Ended   time.Time // zero while running
}

// UnknownTaskError reports an id that no background command has.
type UnknownTaskError struct {
	ID    string
	Known []string
}

func (e *UnknownTaskError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no background command %q; none was started", e.ID)
	}
	return fmt.Sprintf("there is no background command %q; known are: %s", e.ID, strings.Join(e.Known, ", "))
}

var (
	errTaskStopped = errors.New("it was stopped on request")
	errTaskFlooded = fmt.Errorf("it printed more than %d MB", maxTaskBytes>>20)
)

// task is a Task with what is needed to end it.
type task struct {
	mu   sync.Mutex
	info Task // guarded by mu

	stopOnce sync.Once
	stop     chan struct{}
	done     chan struct{} // closed when its processes are gone

	report string // a file to remove when it has ended; "" for none
}

func (t *task) snapshot() Task {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.info
}

func newTask(id, line string, out *capture) *task {
	return &task{
		info: Task{ID: id, Command: line, Output: out.path(), State: TaskRunning, Started: time.Now()},
		stop: make(chan struct{}), done: make(chan struct{}),
	}
}

func newTaskID() string { return "b" + strings.ToLower(rand.Text()[:8]) }

// launch starts a background command and returns without waiting for it.
func (b *bashTool) launch(line string) tool.Result {
	if b.env.OutputDir == "" {
		return tool.Errorf("background commands need a folder for their output, and this agent has none; run it in the foreground")
	}
	note := b.checkFolder()
	id := newTaskID()
	out := newCapture(b.env.OutputDir, id+".output", maxTaskBytes)
	if err := out.open(); err != nil {
		return failure(fmt.Errorf("make the output file of a background command: %w", err))
	}
	mark := rand.Text()
	p, err := startProcess(b.command(line, mark, ""), mark, b.env.Session, out)
	if err != nil {
		out.close()
		return b.notStarted(err)
	}
	t := newTask(id, line, out)
	b.adopt(t, p, out)
	text := fmt.Sprintf("Started in the background as %s. Its output goes to %s; Read that file to see it.", id, out.path())
	if note != "" {
		text += " (" + note + ")"
	}
	return tool.Result{Text: text, Detail: bashDetail{TaskID: id, Path: out.path()}.encode()}
}

// adopt lists the task and starts the goroutine that sees it to its end. A set
// that was closed since the call began ends it at once.
func (b *bashTool) adopt(t *task, p *process, out *capture) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tasks = append(b.tasks, t)
	b.background.Go(func() { b.oversee(t, p, out) })
}

// oversee waits for the end of a background command, or brings it about.
func (b *bashTool) oversee(t *task, p *process, out *capture) {
	defer close(t.done)
	var reason, err error
	select {
	case <-p.ended:
	case <-t.stop:
		reason, err = errTaskStopped, p.terminate(killGrace)
	case <-b.closing:
		reason, err = ErrClosed, p.terminate(stopGrace)
	case <-out.full:
		reason, err = errTaskFlooded, p.signal(syscall.SIGKILL)
	}
	limit := sweepLimit
	if reason == nil {
		p.settle(b.linger, t.stop, b.closing)
	}
	if errors.Is(reason, ErrClosed) {
		limit = stopSweep
	}
	left := p.finish(limit)
	if err = errors.Join(err, left.err, t.forget()); err != nil {
		fmt.Fprintf(out, "\n[ending the command was difficult: %v]\n", err)
	}
	out.close()
	b.ended(t, p, reason)
}

func (b *bashTool) ended(t *task, p *process, reason error) {
	t.mu.Lock()
	t.info.State, t.info.Reason, t.info.Ended = TaskExited, reason, time.Now()
	if reason != nil {
		t.info.State = TaskStopped
	}
	t.info.ExitCode, _, _ = p.exit()
	info := t.info
	t.mu.Unlock()
	if b.env.OnTask != nil {
		b.env.OnTask(info)
	}
}

// List implements Background.
func (b *bashTool) List() []Task {
	b.mu.Lock()
	tasks := slices.Clone(b.tasks)
	b.mu.Unlock()
	list := make([]Task, len(tasks))
	for i, t := range tasks {
		list[i] = t.snapshot()
	}
	return list
}

// Stop implements Background.
func (b *bashTool) Stop(id string) error {
	unknown := &UnknownTaskError{ID: id}
	b.mu.Lock()
	tasks := slices.Clone(b.tasks)
	b.mu.Unlock()
	for _, t := range tasks {
		if t.info.ID == id { // the id never changes
			t.stopOnce.Do(func() { close(t.stop) })
			<-t.done
			return nil
		}
		unknown.Known = append(unknown.Known, t.info.ID)
	}
	return unknown
}

// shut ends all commands, without waiting, and refuses further ones.
func (b *bashTool) shut() {
	b.closeOnce.Do(func() {
		b.mu.Lock()
		b.closed = true
		b.mu.Unlock()
		close(b.closing)
	})
}

// Close ends the background commands, and the foreground one if there is one,
// and returns when they are gone. It may be called again, and concurrently.
func (b *bashTool) Close() error {
	b.unhook()
	b.shut()
	<-b.turn // a call under way may be about to start a command
	b.background.Wait()
	b.turn <- struct{}{}
	return nil
}
