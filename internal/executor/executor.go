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
//     keystrokes, and nothing is read from a pane (TestATmuxPaneRunsTheCommand). Tmux
//     shows a name as it is, whatever characters it contains (TestNoNameIsReadByTmux).
//   - Each command has a process group of its own, so signals from the starter's
//     terminal do not reach it, and Kill ends the whole group, including one that is
//     stopped (TestPlainIsAnExecutor, TestTmuxIsAnExecutor).
//   - A pane can open while another closes (TestAPaneOpensWhileTheLastOneGoes).
//   - Kill returns when the process and its pane are gone. Close removes what tmux
//     left when the last pane of a session is gone, but not while a person uses that
//     tmux session (TestASessionThatSomebodyUsesKeepsItsSocket).
//   - The lock tells whether an adopted process lives: it is killed only while it
//     holds its lock, so that another process with the same number is never hit
//     (TestAnAdoptedNumberOfAStrangerIsNotKilled).
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

// Command is what is to be run. All but Color are required.
type Command struct {
	Args  []string // the program first, by its path
	Dir   string   // working directory
	Log   string   // file for what it writes where there is no pane
	Lock  string   // file that the process locks while it lives
	Name  string   // title of a pane
	Color string   // of a pane's border; "" is the terminal's
}

// Executor starts a command and returns when the system has started it, which
// says nothing of whether it will come to anything.
type Executor interface {
	Start(ctx context.Context, c Command) (*Process, error)
}

// Process is one started command. Its methods may be called from any goroutine.
type Process struct {
	PID  int
	Pane string // where it can be seen, for people; "" is nowhere

	lock    string // with adopted: proof that the number is still its own
	adopted bool
	gone    chan struct{}
	closing sync.Once
	unseat  func() // takes the pane away; may be nil
}

// Gone is closed when the process has ended.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Kill ends the process with its group and returns when it is gone. It may be
// called more than once.
func (p *Process) Kill(ctx context.Context) error {
	defer p.clear()
	select {
	case <-p.gone:
		return nil
	default:
	}
	if !p.adopted || Held(p.lock) {
		if err := syscall.Kill(-p.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("kill process group %d: %w", p.PID, err)
		}
	}
	select {
	case <-p.gone:
		p.bury(ctx)
		return nil
	case <-ctx.Done():
		return fmt.Errorf("process %d was killed and is still there: %w", p.PID, context.Cause(ctx))
	}
}

// burial bounds how long bury waits: the number may be another process's already.
const burial = time.Second

// bury waits until an adopted process is no more. It gives its lock back a moment
// before, and what is looked for by the end of its process is not found until then.
func (p *Process) bury(ctx context.Context) {
	if !p.adopted {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, burial)
	defer cancel()
	tick := time.NewTicker(burial / 100)
	defer tick.Stop()
	for syscall.Kill(p.PID, 0) == nil && !isZombie(p.PID) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (p *Process) clear() {
	if p.unseat != nil {
		p.closing.Do(p.unseat)
	}
}

// look is how often a process is looked at that is not our child.
const look = 100 * time.Millisecond

// watch closes gone when a process that is no child has ended, or when ctx ends.
func (p *Process) watch(ctx context.Context) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for p.lives() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
	close(p.gone)
	p.clear()
}

func (p *Process) lives() bool {
	if p.adopted {
		// One whose first thread has ended is a zombie while others still hold its files.
		return Held(p.lock)
	}
	return Lives(p.PID)
}

// Lives reports whether a process has not ended; one that nobody has collected has,
// where the system can tell.
func Lives(pid int) bool { return syscall.Kill(pid, 0) == nil && !isZombie(pid) }

// isZombie reports a process that has ended and that nobody has collected, where
// the system can tell.
func isZombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	return bytes.HasPrefix(rest, []byte("Z"))
}

// Adopt returns the process that holds a lock, started by somebody else. ctx
// bounds how long it is looked at.
func Adopt(ctx context.Context, pid int, lock string) *Process {
	p := &Process{PID: pid, lock: lock, adopted: true, gone: make(chan struct{})}
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
	defer log.Close() // the child has its own
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.Dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the process of %s: %w", c.Name, err)
	}
	p := &Process{PID: cmd.Process.Pid, gone: make(chan struct{})}
	go func() {
		// How it ended is in its log; that it ended is what counts.
		_ = cmd.Wait()
		close(p.gone)
	}()
	return p, nil
}
