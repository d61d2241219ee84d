package cli

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheSecondCtrlCEndsTheProcessIfNothingElseDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := make(chan int, 1)
		c := newControl(t.Context(), func(code int) { left <- code })
		begun := time.Now()
		c.signals <- os.Interrupt
		synctest.Wait()
		if c.Run.Err() == nil || c.Session.Err() != nil {
			t.Fatal("the first Ctrl-C ends the run and not the session")
		}
		c.signals <- os.Interrupt
		if code := <-left; code != ExitInterrupted || time.Since(begun) > 2*time.Second {
			t.Errorf("status %d after %v", code, time.Since(begun))
		}
		if c.Session.Err() == nil {
			t.Error("the session was not ended first")
		}
		c.Release()
		c.Release()
	})
}

func TestTheFirstSignalDecidesTheExitStatus(t *testing.T) {
	for _, c := range []struct {
		signals []os.Signal
		code    int
		cause   error
	}{
		{nil, 0, nil},
		{[]os.Signal{os.Interrupt}, ExitInterrupted, errInterrupt},
		{[]os.Signal{syscall.SIGTERM}, ExitTerminated, errTerminate},
		{[]os.Signal{syscall.SIGHUP, syscall.SIGTERM}, ExitHungUp, errHangUp},
		{[]os.Signal{os.Interrupt, syscall.SIGTERM}, ExitInterrupted, errInterrupt},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctl := newControl(t.Context(), func(int) { t.Error("it left") })
			for _, s := range c.signals {
				ctl.signals <- s
			}
			synctest.Wait()
			if ctl.ExitCode() != c.code || !errors.Is(context.Cause(ctl.Run), c.cause) {
				t.Errorf("%v: status %d, cause %v", c.signals, ctl.ExitCode(), context.Cause(ctl.Run))
			}
			ctl.Release()
		})
	}
}
