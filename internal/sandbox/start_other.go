//go:build !linux

package sandbox

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
)

// Process is a command that was started under a profile, with all that it starts.
type Process struct {
	Profile Profile

	cmd   *exec.Cmd
	end   chan struct{}
	close sync.Once
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
	if p.Outlet {
		return nil, errors.New("this machine cannot give a command a network of its own")
	}
	if p.Limits != (Limits{}) {
		return nil, errors.New("this machine cannot enforce limits")
	}
	if p.Temp != "" {
		if cmd.Env == nil {
			cmd.Env = os.Environ()
		}
		cmd.Env = append(slices.Clone(cmd.Env), "TMPDIR="+p.Temp, "XDG_CACHE_HOME="+filepath.Join(p.Temp, cacheName))
	}
	if m.Seatbelt != "" {
		cmd.Args = append([]string{m.Seatbelt, "-p", seatbelt(p), cmd.Path}, cmd.Args[1:]...)
		cmd.Path = m.Seatbelt
	}
	proc := &Process{Profile: p, cmd: cmd, end: make(chan struct{})}
	started := make(chan error)
	go proc.hold(started)
	return proc, <-started
}

// hold starts the command on a thread that stays until Close: some systems end the
// command with the thread that started it.
func (p *Process) hold(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	started <- p.cmd.Start()
	<-p.end
}

// Outlet returns nothing here.
func (p *Process) Outlet() net.Listener { return nil }

// Networks returns why a command can have no network of its own here.
func (m Machine) Networks() error { return errors.New("it takes the namespaces of Linux") }

// PID returns the number of the process that was started.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Wait waits for the command itself, as exec.Cmd.Wait does.
func (p *Process) Wait() error { return p.cmd.Wait() }

// Scoped reports whether KillAll finds every process of the command: here it does not.
func (p *Process) Scoped() bool { return false }

// KillAll kills nothing here.
func (p *Process) KillAll() ([]int, error) { return nil, nil }

// Left knows no processes here.
func (p *Process) Left() ([]int, error) { return nil, nil }

// Close gives back what the process took.
func (p *Process) Close() error {
	p.close.Do(func() { close(p.end) })
	return nil
}

// exceeds measures nothing here.
func (p *Process) exceeds() string { return "" }

// exceededLast knows nothing here.
func (p *Process) exceededLast() string { return "" }

// MachineMemory is not known here.
func MachineMemory() uint64 { return 0 }

// Marked knows no marks here.
func Marked(int) (bool, error) { return false, nil }

// RemovePlaceholders removes nothing here.
func (Place) RemovePlaceholders() error { return nil }
