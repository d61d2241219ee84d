package sandbox

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// thread is a thread of its own, which may be restricted: nothing else runs on it, and
// it ends with its user.
type thread struct {
	work chan func()
	gone chan struct{}
}

// newThread starts a thread. The caller owns its end.
func newThread() *thread {
	t := &thread{work: make(chan func()), gone: make(chan struct{})}
	go t.serve()
	return t
}

// serve runs on the thread. It never unlocks it, so that the runtime throws it away.
func (t *thread) serve() {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		defer close(t.gone)
		for f := range t.work {
			f()
		}
		return
	}
	// The first thread cannot be thrown away, and others see it as the process. This
	// goroutine occupies it until another thread has done the work.
	go t.serve()
	<-t.gone
	runtime.UnlockOSThread()
}

// do runs f on the thread and returns when it has.
func (t *thread) do(f func()) {
	done := make(chan struct{})
	t.work <- func() { defer close(done); f() }
	<-done
}

// end ends the thread.
func (t *thread) end() {
	close(t.work)
	<-t.gone
}
