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

	"github.com/actorswarm/swarm/internal/sandbox"
	"github.com/actorswarm/swarm/tool"
)

// Background is implemented by the Bash tool of a set. It manages the commands that run in
// the background. All methods may be called concurrently.
type Background interface {
	// List returns every background command of the agent, in the order of
	// their start, ended ones included.
	List() []Task
	// Detach moves the current foreground command, if there is one, to the background:
	// its call returns at once, and its output is in the task's file. Detach returns the
	// new tasks after the command was moved or has ended instead.
	Detach() []Task
	// Stop ends a command and returns when its processes have ended, after at most some
	// three seconds. It is no error if the command has ended; for an unknown id the error
	// names the known ones.
	Stop(id string) error
	// Output returns the output of a command, once it has ended or when ctx ends; known
	// is false if there is no such command.
	Output(ctx context.Context, id string) (r tool.Result, known bool)
}

// TaskState is the state of a background command.
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
	// Reason is why the command was stopped, or nil.
	Reason  error
	Started time.Time
	Ended   time.Time // zero while running
}

// ErrTaskStopped is the reason of commands that Stop has ended.
var ErrTaskStopped = errors.New("it was stopped on request")

// UnknownTaskError reports that no background command has the id.
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

var errTaskFlooded = fmt.Errorf("it printed more than %d MB", maxTaskBytes>>20)

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
func (b *bashTool) launch(line string, profile sandbox.Profile) tool.Result {
	if b.env.OutputDir == "" {
		return tool.Errorf("background commands need a folder for their output, and this agent has none; run it in the foreground")
	}
	note := b.checkDir()
	id := newTaskID()
	out := newCapture(b.env.OutputDir, id+".output", maxTaskBytes)
	if err := out.open(); err != nil {
		return failure(fmt.Errorf("make the output file of a background command: %w", err))
	}
	mark := rand.Text()
	p, err := startProcess(b.command(line, mark, ""), profile, mark, b.env.Session, out, b.serve)
	if err != nil {
		out.close()
		return b.notStarted(err)
	}
	t := newTask(id, line, out)
	b.register(t, p, out)
	text := fmt.Sprintf("Started in the background as %s. Its output goes to %s; Read that file to see it.", id, out.path())
	if note != "" {
		text += " (" + note + ")"
	}
	return tool.Result{Text: text, Detail: bashDetail{TaskID: id, Path: out.path()}.encode()}
}

// register adds the task and starts the goroutine that supervises it. It ends the task at
// once if the set was closed since the call began.
func (b *bashTool) register(t *task, p *process, out *capture) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tasks = append(b.tasks, t)
	b.background.Go(func() { b.supervise(t, p, out) })
}

// supervise waits for the end of a background command, or ends it.
func (b *bashTool) supervise(t *task, p *process, out *capture) {
	defer close(t.done)
	var reason, err error
	select {
	case <-p.ended:
	case <-t.stop:
		reason, err = ErrTaskStopped, p.terminate(killGrace)
	case <-b.closing:
		reason, err = ErrClosed, p.terminate(stopGrace)
	case <-out.full:
		reason, err = errTaskFlooded, p.signal(syscall.SIGKILL)
	case why := <-p.exceeds:
		reason, err = errors.New(why), p.signal(syscall.SIGKILL)
		fmt.Fprintf(out, "\n[the command was ended: %s]\n", why)
	}
	limit := sweepLimit
	if reason == nil {
		p.awaitChildren(b.linger, t.stop, b.closing)
	}
	if errors.Is(reason, ErrClosed) {
		limit = stopSweep
	}
	left := p.finish(limit)
	if err = errors.Join(err, left.err, t.removeReport()); err != nil {
		fmt.Fprintf(out, "\n[ending the command was difficult: %v]\n", err)
	}
	if why := p.refusals(); why != "" {
		fmt.Fprintf(out, "\n[%s]\n", why)
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

// cancelAll ends all commands, without waiting, and refuses further ones.
func (b *bashTool) cancelAll() {
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
	b.cancelAll()
	<-b.slot // a running call may be about to start a command
	b.background.Wait()
	err := b.confine.Close()
	b.slot <- struct{}{}
	return err
}
