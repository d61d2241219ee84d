// Package executor starts and ends the processes of agents that run outside the
// session's own process: plainly, or each in a pane of tmux. A process holds a lock
// file while it lives, by which a later session can find it again.
//
//	var e executor.Executor = executor.Plain{}
//	p, err := e.Start(ctx, executor.Command{Args: args, Dir: dir, Log: log, Lock: lock, Name: "bob"})
//	<-p.Gone()          // it has ended
//	err = p.Kill(ctx)   // or end it, with its process group
//	p = executor.Adopt(ctx, pid, lock) // one that an earlier session started
//
// Laws:
//
//   - A pane only displays: a command is started by its argument list, never by
//     keystrokes, and nothing is read from a pane (TestTmuxPaneRunsTheCommand). Tmux
//     shows a name as it is, whatever characters it contains (TestTmuxDoesNotInterpretNames).
//   - A tmux server gets the environment it is given, and nothing else of ours
//     (TestTmuxServerHasTheGivenEnvironment).
//   - Each command has a process group of its own, so signals from the starter's
//     terminal do not reach it, and Kill ends the whole group, including one that is
//     stopped (TestPlainIsAnExecutor, TestTmuxIsAnExecutor).
//   - A pane can open while another closes (TestPaneOpensWhileTheLastOneCloses).
//   - Kill returns when the process and its pane are gone. Close removes what tmux
//     left when the last pane of a session is gone, but not while a person uses that
//     tmux session (TestTmuxSessionInUseKeepsItsSocket).
//   - The lock shows whether an adopted process lives: it is killed only while it
//     holds its lock, so that another process with the same number is never hit
//     (TestReusedProcessNumberIsNotKilled).
package executor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Command is a command to run. All fields but Color are required.
type Command struct {
	Args  []string // program path and arguments
	Dir   string   // working directory
	Log   string   // file for its output if there is no pane
	Lock  string   // file that the process locks while it lives
	Name  string   // title of a pane
	Color string   // of the pane's border; "" is the default
}

// Executor starts commands. Start returns when the process exists; it does not wait for the
// program to be ready.
type Executor interface {
	Start(ctx context.Context, c Command) (*Process, error)
}

// Process is one started command. Its methods may be called from any goroutine.
type Process struct {
	PID  int
	Pane string // where a person can see it; "" if nowhere

	lock      string // of an adopted process: proof that the number is still its own
	adopted   bool
	done      chan struct{}
	closing   sync.Once
	closePane func() // closes the pane; may be nil
}

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Kill kills the process with its group and returns when it has ended. It may be called
// more than once.
func (p *Process) Kill(ctx context.Context) error {
	defer p.cleanUp()
	select {
	case <-p.done:
		return nil
	default:
	}
	if !p.adopted || Held(p.lock) {
		if err := syscall.Kill(-p.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("kill process group %d: %w", p.PID, err)
		}
	}
	select {
	case <-p.done:
		p.awaitExit(ctx)
		return nil
	case <-ctx.Done():
		return fmt.Errorf("process %d was killed and is still there: %w", p.PID, context.Cause(ctx))
	}
}

// exitTimeout bounds awaitExit: the number may belong to another process already.
const exitTimeout = time.Second

// awaitExit waits until an adopted process does not exist any more. It releases its lock a
// moment earlier, while searches for the process still find it.
func (p *Process) awaitExit(ctx context.Context) {
	if !p.adopted {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, exitTimeout)
	defer cancel()
	tick := time.NewTicker(exitTimeout / 100)
	defer tick.Stop()
	for syscall.Kill(p.PID, 0) == nil && !isZombie(p.PID) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (p *Process) cleanUp() {
	if p.closePane != nil {
		p.closing.Do(p.closePane)
	}
}

// pollInterval is how often a process that is not a child is checked.
const pollInterval = 100 * time.Millisecond

// watch closes done when a process that is not a child has ended, and returns when ctx ends.
func (p *Process) watch(ctx context.Context) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for p.alive() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
	close(p.done)
	p.cleanUp()
}

func (p *Process) alive() bool {
	if p.adopted {
		// After its first thread has ended a process is a zombie while others still hold its files.
		return Held(p.lock)
	}
	return Alive(p.PID)
}

// Alive reports whether a process runs. A zombie does not, where the system shows zombies.
func Alive(pid int) bool { return syscall.Kill(pid, 0) == nil && !isZombie(pid) }

// isZombie reports whether a process has ended and its parent has not waited for it, where
// the system shows that.
func isZombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	return bytes.HasPrefix(rest, []byte("Z"))
}

// Adopt returns the process that holds a lock and that another process started. It checks
// until ctx ends whether the process lives.
func Adopt(ctx context.Context, pid int, lock string) *Process {
	p := &Process{PID: pid, lock: lock, adopted: true, done: make(chan struct{})}
	go p.watch(ctx)
	return p
}

// Plain runs commands without a terminal.
type Plain struct{}

// Start implements Executor.
func (Plain) Start(ctx context.Context, c Command) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", c.Name, err)
	}
	defer log.Close() // the child has its own copy
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.Dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the process of %s: %w", c.Name, err)
	}
	p := &Process{PID: cmd.Process.Pid, done: make(chan struct{})}
	go func() {
		// The log has the reason; only the end matters here.
		_ = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}
