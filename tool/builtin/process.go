package builtin

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

const (
	killGrace  = 2 * time.Second        // between SIGTERM and SIGKILL after a timeout
	stopGrace  = 350 * time.Millisecond // the same when the call is cancelled
	lingering  = time.Second            // for children to end by themselves after the shell
	sweepLimit = 3 * time.Second        // for killed processes to be gone
	stopSweep  = 450 * time.Millisecond // the same when the call is cancelled
	sweepTick  = 4 * time.Millisecond
	drainLimit = 100 * time.Millisecond // for the rest of the output when somebody still holds it
)

// lifelineFD is the descriptor every process of a command inherits and none
// uses; when its last holder is gone the command has left nothing behind. It
// is out of the way of the digits that shell scripts redirect.
const lifelineFD = 19

// badgeFD is the descriptor by which every process of a command says whose it
// is, also when it has shed its environment and the runtime is gone.
const badgeFD = lifelineFD + 1

// process is a running command with everything it starts.
//
// One goroutine, bound to its thread, starts the shell, waits for it and
// collects it: the kernel sends the parent-death signal when the *thread* that
// started a process ends, so that thread must live as long and serve nobody
// else. Two more read the output and the lifeline until these end; finish
// closes both, so none outlives it unless a process cannot be killed.
type process struct {
	cmd  *exec.Cmd
	mark string // SWARM_CALL of the environment, unique to this command

	out, life *os.File // reading ends
	ended     chan struct{}
	collect   chan struct{} // closed when the group may no longer be signalled
	collected chan struct{}
	drained   chan struct{} // the output has ended
	deserted  chan struct{} // nobody holds the lifeline
	waitErr   error         // valid when collected is closed
	once      sync.Once
}

// startProcess starts cmd in a session of its own, so that it has neither the
// terminal nor the signals of the runtime, with its output going to w in the
// order in which it is written. session is what Reap will know it by.
func startProcess(cmd *exec.Cmd, mark, session string, w io.Writer) (*process, error) {
	p := &process{
		cmd: cmd, mark: mark,
		ended: make(chan struct{}), collect: make(chan struct{}), collected: make(chan struct{}),
		drained: make(chan struct{}), deserted: make(chan struct{}),
	}
	outW, lifeW, err := p.pipes()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = outW, outW
	wears := badge(session)
	cmd.ExtraFiles = make([]*os.File, badgeFD-2)
	cmd.ExtraFiles[lifelineFD-3], cmd.ExtraFiles[badgeFD-3] = lifeW, wears
	cmd.SysProcAttr = sessionAttr()
	started := make(chan error, 1)
	go p.supervise(started)
	err = <-started
	err = errors.Join(err, outW.Close(), lifeW.Close())
	if wears != nil {
		err = errors.Join(err, wears.Close())
	}
	if err != nil {
		return nil, errors.Join(err, p.out.Close(), p.life.Close())
	}
	go p.drain(w)
	go p.watch()
	return p, nil
}

func (p *process) pipes() (outW, lifeW *os.File, err error) {
	if p.out, outW, err = os.Pipe(); err != nil {
		return nil, nil, fmt.Errorf("make a pipe: %w", err)
	}
	if p.life, lifeW, err = os.Pipe(); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("make a pipe: %w", err), p.out.Close(), outW.Close())
	}
	return outW, lifeW, nil
}

func (p *process) supervise(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	awaitEnd(p.cmd.Process.Pid)
	close(p.ended)
	<-p.collect
	p.waitErr = p.cmd.Wait()
	close(p.collected)
}

func (p *process) drain(w io.Writer) {
	defer close(p.drained)
	// A deadline set by finish ends the copy; there is nobody to tell of it.
	if _, err := io.Copy(w, p.out); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		fmt.Fprintf(w, "\n[the output could not be read to its end: %v]\n", err)
	}
}

// watch waits for the end of the lifeline. Bytes on it, which no sane command
// writes, are dropped.
func (p *process) watch() {
	defer close(p.deserted)
	buf := make([]byte, 512)
	for {
		if _, err := p.life.Read(buf); err != nil {
			return
		}
	}
}

// signal sends a signal to the group of the shell. It must not be called after
// finish; until then the shell is not collected and its number cannot have
// gone to a stranger.
func (p *process) signal(sig syscall.Signal) error {
	err := syscall.Kill(-p.cmd.Process.Pid, sig)
	if errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) {
		return nil // nobody is left; Darwin says EPERM if only zombies are
	}
	return err
}

// terminate asks the group to end, and kills it after the grace.
func (p *process) terminate(grace time.Duration) error {
	err := p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
		return err
	case <-time.After(grace):
	}
	return errors.Join(err, p.signal(syscall.SIGKILL))
}

// leftovers tells what finish found.
type leftovers struct {
	killed int   // processes of the command that had outlived the shell
	alive  bool  // somebody still holds the lifeline
	err    error // of looking or killing
}

// settle gives children a moment to end by themselves once the shell has, as a
// process substitution does, unless somebody wants the end at once.
func (p *process) settle(moment time.Duration, hurry ...<-chan struct{}) {
	t := time.NewTimer(moment)
	defer t.Stop()
	var first, second <-chan struct{}
	switch len(hurry) {
	case 2:
		second = hurry[1]
		fallthrough
	case 1:
		first = hurry[0]
	}
	select {
	case <-p.deserted:
	case <-t.C:
	case <-first:
	case <-second:
	}
}

// finish ends everything the command has left behind and collects the shell,
// which must have ended or have been killed. It returns when all are gone, or
// after limit. Only the first call works.
func (p *process) finish(limit time.Duration) (left leftovers) {
	p.once.Do(func() { left = p.sweep(limit) })
	return left
}

// maxUnsure bounds how often a look is repeated for the sake of processes that
// cannot be told from ours.
const maxUnsure = 3

func (p *process) sweep(limit time.Duration) (left leftovers) {
	end := time.NewTimer(limit)
	defer end.Stop()
	hunt := newHunt()
	for looks, done := 0, false; !done; looks++ {
		left.err = errors.Join(p.killMarked(hunt), p.signal(syscall.SIGKILL))
		if p.quiet() && hunt.found == 0 && (hunt.unsure == 0 || looks >= maxUnsure) {
			break
		}
		select {
		case <-end.C:
			done, left.alive = true, true
		case <-time.After(sweepTick):
		}
	}
	left.killed = len(hunt.killed)
	left.err = errors.Join(left.err, p.close())
	return left
}

// quiet waits a moment for the lifeline, so that a command that leaves nothing
// is done at the first look.
func (p *process) quiet() bool {
	select {
	case <-p.deserted:
		return true
	case <-time.After(sweepTick):
		return false
	}
}

// hunt is what is known of the processes looked for.
type hunt struct {
	killed map[int]bool // all that were killed
	found  int          // alive at the last look, dying ones included
	unsure int          // at the last look: may be ours, between two programs
}

func newHunt() *hunt { return &hunt{killed: make(map[int]bool)} }

// close collects the shell and ends the reading of what nobody may end.
func (p *process) close() error {
	close(p.collect)
	waitFor(p.collected, drainLimit)
	waitFor(p.drained, drainLimit)
	err := errors.Join(p.out.SetReadDeadline(time.Unix(1, 0)), p.life.SetReadDeadline(time.Unix(1, 0)))
	<-p.drained
	<-p.deserted
	return errors.Join(err, p.out.Close(), p.life.Close())
}

func waitFor(done <-chan struct{}, limit time.Duration) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// exit returns the exit code as a shell gives it, and the signal that ended
// the shell, if one did. ok is false if the shell could not be collected.
func (p *process) exit() (code int, by syscall.Signal, ok bool) {
	select {
	case <-p.collected:
	default:
		return -1, 0, false
	}
	status, isStatus := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !isStatus {
		return p.cmd.ProcessState.ExitCode(), 0, true
	}
	if status.Signaled() {
		return 128 + int(status.Signal()), status.Signal(), true
	}
	return status.ExitStatus(), 0, true
}
