package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Process is a command that was started under a profile, with all that it starts.
type Process struct {
	Profile Profile

	cmd    *exec.Cmd
	thread *thread
	scoped bool // the thread can signal the processes of the command and no others
	held   []*placeholder
	outlet net.Listener
	group  *group // nil: none
	close  sync.Once
	err    error
}

// Start starts a command under a profile, with what this machine has. The caller waits
// for the command and closes the process.
func Start(cmd *exec.Cmd, p Profile) (*Process, error) { return Probe().Start(cmd, p) }

// Start starts a command under a profile. A machine that cannot enforce it refuses with
// *UnenforcedError, but runs a command that is open with what it has.
func (m Machine) Start(cmd *exec.Cmd, p Profile) (*Process, error) {
	if err := m.Enforces(p.Name); err != nil && p.Name != Open {
		return nil, err
	}
	program := cmd.Path
	pl, err := m.plan(p)
	if err != nil {
		return nil, fmt.Errorf("prepare the profile %s: %w", p.Name, err)
	}
	proc := &Process{Profile: p, cmd: cmd, thread: newThread(), held: pl.held, group: pl.group}
	ready, err := pl.prepare(cmd)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare the profile %s: %w", p.Name, err), proc.Close())
	}
	proc.thread.do(func() {
		if err = pl.apply(); err == nil {
			proc.scoped = pl.scoped && scopeHolds()
			err = cmd.Start()
		}
		err = ready.started(cmd, err)
	})
	if err == nil {
		if ready.outlet != nil {
			proc.outlet = ready.outlet.listener
		}
		return proc, nil
	}
	return nil, errors.Join(fmt.Errorf("start %s under the profile %s: %w", program, p.Name, err), proc.Close())
}

// scopeHolds makes sure that the calling thread, which was scoped, cannot signal what is
// outside: a process that it could signal without the scope.
func scopeHolds() bool {
	return unix.Kill(1, 0) != nil && (unix.Getppid() <= 1 || unix.Kill(unix.Getppid(), 0) != nil)
}

// Outlet returns what accepts the connections to the port in the network of the command,
// or nil. The caller closes it; until then the network remains.
func (p *Process) Outlet() net.Listener { return p.outlet }

// PID returns the number of the process that was started.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Wait waits for the command itself, as exec.Cmd.Wait does.
func (p *Process) Wait() error { return p.cmd.Wait() }

// Scoped reports whether KillAll finds every process of the command.
func (p *Process) Scoped() bool { return p.scoped }

// KillAll kills every process of the command that is left, in one step that no fork
// outruns, and returns those that were there. Without a scope it kills none.
func (p *Process) KillAll() (killed []int, err error) {
	defer func() { err = errors.Join(err, p.group.kill()) }()
	if killed, err = p.Left(); err != nil || !p.scoped {
		return nil, err
	}
	// The kernel lets the thread signal the processes of its scope and no others.
	p.thread.do(func() { err = unix.Kill(-1, unix.SIGKILL) })
	if err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.EPERM) {
		return killed, fmt.Errorf("kill the processes of a command: %w", err)
	}
	return killed, nil
}

// Left returns the processes of the command that have not ended. Without a scope it
// knows none.
func (p *Process) Left() ([]int, error) {
	if !p.scoped {
		return nil, nil
	}
	pids, err := allProcesses()
	if err != nil {
		return nil, fmt.Errorf("look for the processes of a command: %w", err)
	}
	p.thread.do(func() {
		pids = slices.DeleteFunc(pids, func(pid int) bool { return unix.Kill(pid, 0) != nil })
	})
	return slices.DeleteFunc(pids, func(pid int) bool { return !lives(pid) }), nil
}

// allProcesses lists the numbers of all processes but the first and this one.
func allProcesses() (pids []int, err error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := proc.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid > 1 && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids, errors.Join(err, proc.Close())
}

// lives reports a process that has not ended.
func lives(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	end := slices.Index(stat, ')') // a name that holds one makes it look alive
	return end < 0 || end+2 >= len(stat) || stat[end+2] != 'Z' && stat[end+2] != 'X'
}

// Close gives back what the process took. It ends nothing: the kernel kills the command
// itself if it was started with Pdeathsig and still runs. It may be called again.
func (p *Process) Close() error {
	p.close.Do(func() {
		p.thread.end()
		for _, h := range p.held {
			p.err = errors.Join(p.err, h.release())
		}
		p.err = errors.Join(p.err, p.group.remove())
	})
	return p.err
}
