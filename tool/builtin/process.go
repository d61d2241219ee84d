package builtin

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/actorswarm/swarm/internal/proxy"
	"github.com/actorswarm/swarm/internal/sandbox"
)

const (
	killGrace  = 2 * time.Second        // between SIGTERM and SIGKILL after a timeout
	stopGrace  = 350 * time.Millisecond // the same when the call is cancelled
	childGrace = time.Second            // for children to end after the shell has ended
	sweepLimit = 3 * time.Second        // for killed processes to be gone
	stopSweep  = 450 * time.Millisecond // the same when the call is cancelled
	sweepTick  = 4 * time.Millisecond
	drainLimit = 100 * time.Millisecond // for the rest of the output when another process still has it open
)

// lifelineFD is a descriptor that every process of a command inherits and none uses: when
// it has no holder, no process is left. Its number is above those that shell scripts
// redirect.
const lifelineFD = 19

// badgeFD is a descriptor that identifies every process of a command, even when it has
// cleared its environment and the runtime has ended.
const badgeFD = lifelineFD + 1

// process is a running command with everything it starts.
//
// The sandbox starts the shell from a thread that lives as long: the kernel sends
// the parent-death signal when the *thread* that started a process ends. One
// goroutine waits for the shell and collects it, one measures it until then. Two more
// read the output and the lifeline until these end; finish closes both, so none
// outlives it unless a process cannot be killed.
type process struct {
	cmd  *exec.Cmd
	box  *sandbox.Process
	mark string // SWARM_CALL of the environment, unique to this command

	exceeds  chan string // gets why the command is beyond its limits, once
	measured chan struct{}

	proxy *proxy.Proxy // nil: the command has no network, or all of it

	out, lifeline *os.File // reading ends
	ended         chan struct{}
	collect       chan struct{} // closed when the group may no longer be signalled
	collected     chan struct{}
	drained       chan struct{} // the output has ended
	lifelineEnded chan struct{} // closed when no process holds the lifeline
	waitErr       error         // valid when collected is closed
	once          sync.Once
}

// startProcess starts cmd in a session of its own, so that it has neither the terminal nor
// the signals of the runtime. It copies the output to w in order. Reap finds the process by
// session. What accepts the connections of the command, if it has a network of its own, is
// served.
func startProcess(cmd *exec.Cmd, profile sandbox.Profile, mark, session string, w io.Writer, serve func(net.Listener) *proxy.Proxy) (*process, error) {
	p := &process{
		cmd: cmd, mark: mark,
		ended: make(chan struct{}), collect: make(chan struct{}), collected: make(chan struct{}),
		drained: make(chan struct{}), lifelineEnded: make(chan struct{}),
		exceeds: make(chan string, 1), measured: make(chan struct{}),
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
	p.box, err = sandbox.Start(cmd, profile)
	err = errors.Join(err, outW.Close(), lifeW.Close())
	if wears != nil {
		err = errors.Join(err, wears.Close())
	}
	if err != nil {
		return nil, errors.Join(err, p.out.Close(), p.lifeline.Close())
	}
	if l := p.box.Outlet(); l != nil {
		p.proxy = serve(l)
	}
	go p.supervise()
	go p.drain(w)
	go p.watch()
	go p.measure()
	return p, nil
}

func (p *process) pipes() (outW, lifeW *os.File, err error) {
	if p.out, outW, err = os.Pipe(); err != nil {
		return nil, nil, fmt.Errorf("make a pipe: %w", err)
	}
	if p.lifeline, lifeW, err = os.Pipe(); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("make a pipe: %w", err), p.out.Close(), outW.Close())
	}
	return outW, lifeW, nil
}

func (p *process) supervise() {
	awaitEnd(p.cmd.Process.Pid)
	close(p.ended)
	<-p.measured
	<-p.collect
	p.waitErr = errors.Join(p.box.Wait(), p.box.Close())
	close(p.collected)
}

func (p *process) drain(w io.Writer) {
	defer close(p.drained)
	// A deadline set by finish ends the copy without an error.
	if _, err := io.Copy(w, p.out); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		fmt.Fprintf(w, "\n[the output could not be read to its end: %v]\n", err)
	}
}

// measure ends with the shell.
func (p *process) measure() {
	defer close(p.measured)
	if why := p.box.Measure(p.ended); why != "" {
		p.exceeds <- why
	}
}

// watch waits for the end of the lifeline and drops bytes on it.
func (p *process) watch() {
	defer close(p.lifelineEnded)
	buf := make([]byte, 512)
	for {
		if _, err := p.lifeline.Read(buf); err != nil {
			return
		}
	}
}

// signal sends a signal to the group of the shell. It must not be called after finish; until
// then the shell's number cannot belong to another process.
func (p *process) signal(sig syscall.Signal) error {
	err := syscall.Kill(-p.cmd.Process.Pid, sig)
	if errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) {
		return nil // the group is empty; Darwin returns EPERM if it has zombies only
	}
	return err
}

// terminate sends SIGTERM to the group, and SIGKILL after the grace.
func (p *process) terminate(grace time.Duration) error {
	err := p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
		return err
	case <-time.After(grace):
	}
	return errors.Join(err, p.signal(syscall.SIGKILL))
}

// leftovers is the result of finish.
type leftovers struct {
	killed int   // processes of the command that had outlived the shell
	alive  bool  // a process still holds the lifeline
	err    error // of finding or killing
}

// awaitChildren gives children a moment to end after the shell, as a process substitution
// does, unless one of the channels is closed.
func (p *process) awaitChildren(moment time.Duration, hurry ...<-chan struct{}) {
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
	case <-p.lifelineEnded:
	case <-t.C:
	case <-first:
	case <-second:
	}
}

// finish kills every remaining process of the command and collects the shell, which must
// have ended or been killed. It returns when all have ended, or after limit. Only the first
// call has an effect.
func (p *process) finish(limit time.Duration) (left leftovers) {
	p.once.Do(func() { left = p.sweep(limit) })
	return left
}

// maxUnclear bounds how often the search is repeated for processes of which it cannot tell
// whether they belong to the command.
const maxUnclear = 3

func (p *process) sweep(limit time.Duration) (left leftovers) {
	end := time.NewTimer(limit)
	defer end.Stop()
	search := newProcessSearch()
	for tries, done := 0, false; !done; tries++ {
		left.err = errors.Join(p.killMarked(search), p.signal(syscall.SIGKILL))
		if p.lifelineClosed() && search.found == 0 && (search.unclear == 0 || tries >= maxUnclear) {
			break
		}
		select {
		case <-end.C:
			done, left.alive = true, true
		case <-time.After(sweepTick):
		}
	}
	left.killed = len(search.killed)
	left.err = errors.Join(left.err, p.close())
	return left
}

// lifelineClosed waits a moment for the lifeline, so that one search is enough for a command
// that leaves nothing.
func (p *process) lifelineClosed() bool {
	select {
	case <-p.lifelineEnded:
		return true
	case <-time.After(sweepTick):
		return false
	}
}

// processSearch holds the results of searches for processes.
type processSearch struct {
	killed  map[int]bool // all that were killed
	found   int          // alive at the last search, including dying ones
	unclear int          // at the last search: perhaps the command's, between fork and exec
}

func newProcessSearch() *processSearch { return &processSearch{killed: make(map[int]bool)} }

// close collects the shell and stops reading from processes that cannot be killed.
func (p *process) close() error {
	close(p.collect)
	waitFor(p.collected, drainLimit)
	waitFor(p.drained, drainLimit)
	err := errors.Join(p.out.SetReadDeadline(time.Unix(1, 0)), p.lifeline.SetReadDeadline(time.Unix(1, 0)))
	<-p.drained
	<-p.lifelineEnded
	if p.proxy != nil {
		err = errors.Join(err, p.proxy.Close())
	}
	return errors.Join(err, p.out.Close(), p.lifeline.Close())
}

func waitFor(done <-chan struct{}, limit time.Duration) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// exit returns the exit code as a shell does, and the signal that ended the shell, if one
// did. ok is false if the shell could not be collected.
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
