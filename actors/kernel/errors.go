package kernel

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
)

var (
	// ErrStopped is returned by Ask to a stopped actor and by Spawn on a stopped
	// system.
	ErrStopped = errors.New("stopped")

	// ErrNameTaken is returned by Spawn while there is an actor of that name.
	ErrNameTaken = errors.New("name is taken")

	// ErrExited is the value of a Panic when Receive called runtime.Goexit, as
	// testing's FailNow does.
	ErrExited = errors.New("goroutine exited inside Receive")
)

// Panic reports a panic in a behavior. It is an error; errors.As finds it in
// what Ask and Parked return.
type Panic struct {
	Actor   string // name of the actor
	Value   any    // what was passed to panic
	Message any    // what was being received; Started when the start failed

	pcs        []uintptr
	restarting bool // the behavior receives Restarting
}

func (p *Panic) Error() string {
	return fmt.Sprintf("actor %q panicked on %T: %v", p.Actor, p.Message, p.Value)
}

// Unwrap is the panic's value if that is an error.
func (p *Panic) Unwrap() error {
	err, ok := p.Value.(error)
	if !ok {
		return nil
	}
	return err
}

// Stack is where it panicked, one "function file:line" per line, innermost
// first.
func (p *Panic) Stack() string {
	var b strings.Builder
	frames := runtime.CallersFrames(p.pcs)
	for {
		f, more := frames.Next()
		if f.Function != "" {
			fmt.Fprintf(&b, "%s %s:%d\n", f.Function, f.File, f.Line)
		}
		if !more {
			return b.String()
		}
	}
}

// ParkedError is the reason given to Parked: the restart policy allows no more
// restarts.
type ParkedError struct {
	Actor  string
	Panics int           // within Within, the last one included
	Within time.Duration // the policy's window
	Last   *Panic

	// Undelivered is nil unless no behavior could be made at all; then it holds
	// what Stopped would have.
	Undelivered []any
}

func (e *ParkedError) Error() string {
	return fmt.Sprintf("actor %q is parked after %d panics within %v; spawn its next incarnation when the cause is gone: %v",
		e.Actor, e.Panics, e.Within, e.Last)
}

// Unwrap is the last panic.
func (e *ParkedError) Unwrap() error { return e.Last }

// StopError is returned by System.Stop when its context ended first.
type StopError struct {
	Names []string // actors still inside Receive, sorted
	Cause error    // why the waiting ended
}

func (e *StopError) Error() string {
	return fmt.Sprintf("%d actors did not stop, they are still receiving: %s: %v",
		len(e.Names), strings.Join(e.Names, ", "), e.Cause)
}

// Unwrap is the cause of the context.
func (e *StopError) Unwrap() error { return e.Cause }
