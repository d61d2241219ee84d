package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Why a run was ended from outside.
var (
	errInterrupt = errors.New("interrupted")
	errAgain     = errors.New("interrupted twice")
	errTerminate = errors.New("terminated")
	errHangUp    = errors.New("the terminal has gone")
	errNoReader  = errors.New("nobody reads standard output any more")
)

// quitWithin is how long a run may take to end after the second Ctrl-C.
const quitWithin = 1900 * time.Millisecond

// control turns signals into the ends of two scopes: the first Ctrl-C ends run,
// which stops the lead's turn; the second, and every other signal, ends session,
// which leaves turns open. It owns a goroutine until release.
type control struct {
	run, session context.Context
	endRun, end  context.CancelCauseFunc

	signals chan os.Signal
	done    sync.WaitGroup
	once    sync.Once
	exit    func(int)
}

func takeControl(ctx context.Context, exit func(int)) *control {
	c := newControl(ctx, exit)
	signal.Notify(c.signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A broken pipe would kill the process in the middle of what it does, and
	// commands with children of their own would be left. The write says enough.
	signal.Ignore(syscall.SIGPIPE)
	return c
}

func newControl(ctx context.Context, exit func(int)) *control {
	c := &control{signals: make(chan os.Signal, 4), exit: exit}
	c.session, c.end = context.WithCancelCause(ctx)
	c.run, c.endRun = context.WithCancelCause(c.session)
	c.done.Go(c.listen)
	return c
}

func (c *control) listen() {
	for s := range c.signals {
		switch {
		case s == syscall.SIGTERM:
			c.end(errTerminate)
		case s == syscall.SIGHUP:
			c.end(errHangUp)
		case c.run.Err() == nil:
			c.endRun(errInterrupt)
		default:
			c.end(errAgain)
			// Not stopped: an orderly end has ended the process before.
			time.AfterFunc(quitWithin, func() { c.exit(exitInterrupted) })
		}
	}
}

// unread ends the session because what it writes goes nowhere.
func (c *control) unread() { c.end(errNoReader) }

// release gives the signals back. It may be called more than once.
func (c *control) release() {
	c.once.Do(func() {
		signal.Stop(c.signals)
		signal.Reset(syscall.SIGPIPE)
		close(c.signals)
		c.done.Wait()
		c.end(nil)
	})
}

// cause is the signal that ended the run, if one did.
func (c *control) cause() error { return context.Cause(c.run) }

// code is the exit status that goes with the signal, 0 without one.
func (c *control) code() int {
	switch {
	case errors.Is(c.cause(), errTerminate):
		return exitTerminated
	case errors.Is(c.cause(), errHangUp):
		return exitHungUp
	case errors.Is(c.cause(), errInterrupt):
		return exitInterrupted
	case errors.Is(c.cause(), errNoReader):
		return exitFailed
	}
	return 0
}

func (c *control) why() string { return c.cause().Error() }
