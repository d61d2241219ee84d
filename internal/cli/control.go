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

// The causes of a run that ends early.
var (
	errInterrupt        = errors.New("interrupted")
	errInterruptedTwice = errors.New("interrupted twice")
	errTerminate        = errors.New("terminated")
	errHangUp           = errors.New("the terminal was closed")
	ErrQuit             = errors.New("ended by swarm quit")
	errOutputClosed     = errors.New("standard output was closed by its reader")
)

// quitTimeout is how long a run may take to end after the second Ctrl-C.
const quitTimeout = 1900 * time.Millisecond

// Signals ends two contexts on signals: the first Ctrl-C ends Run, which stops the
// lead's turn; the second, and every other signal, ends Session, which leaves turns
// open. It owns a goroutine until Release.
type Signals struct {
	Run, Session context.Context
	endRun, end  context.CancelCauseFunc

	signals  chan os.Signal
	diverted atomic.Pointer[chan os.Signal] // where Ctrl-C goes instead; nil is here
	restore  func()                         // gives the signals back; nil if none were taken
	released chan struct{}                  // closed by release
	done     sync.WaitGroup
	once     sync.Once
	exit     func(int)
}

func CatchSignals(ctx context.Context, exit func(int)) *Signals {
	c := newControl(ctx, exit)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // nohup and shells ignore signals for background processes
			signal.Notify(c.signals, s)
		}
	}
	// SIGPIPE would kill the process at once and leave its commands running; the failed
	// write is reported. It is caught, not ignored, because commands inherit ignored
	// signals.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	c.restore = func() {
		signal.Stop(c.signals)
		signal.Stop(pipe)
	}
	return c
}

func newControl(ctx context.Context, exit func(int)) *Signals {
	c := &Signals{signals: make(chan os.Signal, 4), released: make(chan struct{}), exit: exit}
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
		case c.forward(s):
		case c.Run.Err() == nil:
			c.endRun(errInterrupt)
		default:
			c.end(errInterruptedTwice)
			// The timer is not stopped: an orderly end ends the process earlier.
			time.AfterFunc(quitTimeout, func() { c.exit(ExitInterrupted) })
		}
	}
}

// Divert sends each Ctrl-C to interrupts until giveBack is called.
func (c *Signals) Divert() (interrupts <-chan os.Signal, giveBack func()) {
	to := make(chan os.Signal, 4)
	c.diverted.Store(&to)
	return to, func() { c.diverted.Store(nil) }
}

func (c *Signals) forward(s os.Signal) bool {
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

// EndUnread ends the session because its output cannot be written any more.
func (c *Signals) EndUnread() { c.end(errOutputClosed) }

// EndWhen ends the session when quit is closed.
func (c *Signals) EndWhen(quit <-chan struct{}) {
	c.done.Go(func() {
		select {
		case <-quit:
			c.end(ErrQuit)
		case <-c.released:
		}
	})
}

// Release stops catching signals. It may be called more than once.
func (c *Signals) Release() {
	c.once.Do(func() {
		if c.restore != nil {
			c.restore()
		}
		close(c.signals)
		close(c.released)
		c.done.Wait()
		c.end(nil)
	})
}

// Cause returns the signal that ended the run, or nil.
func (c *Signals) Cause() error { return context.Cause(c.Run) }

// ExitCode returns the exit status for the signal, or 0 without one.
func (c *Signals) ExitCode() int {
	switch {
	case errors.Is(c.Cause(), errTerminate), errors.Is(c.Cause(), ErrQuit):
		return ExitTerminated
	case errors.Is(c.Cause(), errHangUp):
		return ExitHungUp
	case errors.Is(c.Cause(), errInterrupt):
		return ExitInterrupted
	case errors.Is(c.Cause(), errOutputClosed):
		return ExitFailed
	}
	return 0
}

func (c *Signals) Reason() string { return c.Cause().Error() }
