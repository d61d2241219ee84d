package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Why a run was ended from outside.
var (
	errInterrupt = errors.New("interrupted")
	errAgain     = errors.New("interrupted twice")
	errTerminate = errors.New("terminated")
	errHangUp    = errors.New("the terminal has gone")
	ErrQuit      = errors.New("ended by swarm quit")
	errNoReader  = errors.New("nobody reads standard output any more")
)

// quitWithin is how long a run may take to end after the second Ctrl-C.
const quitWithin = 1900 * time.Millisecond

// Signals turns signals into the ends of two scopes: the first Ctrl-C ends run,
// which stops the lead's turn; the second, and every other signal, ends session,
// which leaves turns open. It owns a goroutine until release.
type Signals struct {
	Run, Session context.Context
	endRun, end  context.CancelCauseFunc

	signals  chan os.Signal
	diverted atomic.Pointer[chan os.Signal] // where Ctrl-C goes instead; nil is here
	giveBack func()                         // gives the signals back; nil if none were taken
	over     chan struct{}                  // closed by release
	done     sync.WaitGroup
	once     sync.Once
	exit     func(int)
}

func CatchSignals(ctx context.Context, exit func(int)) *Signals {
	c := newControl(ctx, exit)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // by nohup, or a shell for what it runs behind
			signal.Notify(c.signals, s)
		}
	}
	// A broken pipe would kill the process in the middle of what it does, and
	// what its commands have started would be left. The failed write says enough.
	// Ignoring it would be handed on to the commands.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	c.giveBack = func() {
		signal.Stop(c.signals)
		signal.Stop(pipe)
	}
	return c
}

func newControl(ctx context.Context, exit func(int)) *Signals {
	c := &Signals{signals: make(chan os.Signal, 4), over: make(chan struct{}), exit: exit}
	c.Session, c.end = context.WithCancelCause(ctx)
	c.Run, c.endRun = context.WithCancelCause(c.Session)
	c.done.Go(c.listen)
	return c
}

func (c *Signals) listen() {
	for s := range c.signals {
		switch {
		case s == syscall.SIGTERM:
			c.end(errTerminate)
		case s == syscall.SIGHUP:
			c.end(errHangUp)
		case c.passOn(s):
		case c.Run.Err() == nil:
			c.endRun(errInterrupt)
		default:
			c.end(errAgain)
			// Not stopped: an orderly end has ended the process before.
			time.AfterFunc(quitWithin, func() { c.exit(ExitInterrupted) })
		}
	}
}

// Divert hands every Ctrl-C to somebody else until giveBack is called.
func (c *Signals) Divert() (interrupts <-chan os.Signal, giveBack func()) {
	to := make(chan os.Signal, 4)
	c.diverted.Store(&to)
	return to, func() { c.diverted.Store(nil) }
}

func (c *Signals) passOn(s os.Signal) bool {
	to := c.diverted.Load()
	if to == nil {
		return false
	}
	select {
	case *to <- s:
	default: // enough of them wait to be read
	}
	return true
}

// Unread ends the session because what it writes goes nowhere.
func (c *Signals) Unread() { c.end(errNoReader) }

// EndWhen ends the session once quit is closed.
func (c *Signals) EndWhen(quit <-chan struct{}) {
	c.done.Go(func() {
		select {
		case <-quit:
			c.end(ErrQuit)
		case <-c.over:
		}
	})
}

// Release gives the signals back. It may be called more than once.
func (c *Signals) Release() {
	c.once.Do(func() {
		if c.giveBack != nil {
			c.giveBack()
		}
		close(c.signals)
		close(c.over)
		c.done.Wait()
		c.end(nil)
	})
}

// Cause is the signal that ended the run, if one did.
func (c *Signals) Cause() error { return context.Cause(c.Run) }

// ExitCode is the exit status that goes with the signal, 0 without one.
func (c *Signals) ExitCode() int {
	switch {
	case errors.Is(c.Cause(), errTerminate), errors.Is(c.Cause(), ErrQuit):
		return ExitTerminated
	case errors.Is(c.Cause(), errHangUp):
		return ExitHungUp
	case errors.Is(c.Cause(), errInterrupt):
		return ExitInterrupted
	case errors.Is(c.Cause(), errNoReader):
		return ExitFailed
	}
	return 0
}

func (c *Signals) Reason() string { return c.Cause().Error() }
