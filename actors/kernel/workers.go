package kernel

import "sync"

// workers is a stack of parked goroutines whose stacks have already grown: a
// fresh goroutine for each run of a mailbox spends most of its time copying its
// stack. It starts as many as are needed at once, because a Receive may block,
// and parks at most max of them. It owns every goroutine it starts.
type workers struct {
	mu     sync.Mutex
	idle   []chan *cell // most recently parked last: its stack is still warm
	max    int
	live   int
	closed bool
	ended  chan struct{} // closed when closed and live is 0
}

func newWorkers(max int) *workers {
	return &workers{max: max, ended: make(chan struct{})}
}

// run lets a worker run x. It never blocks.
func (w *workers) run(x *cell) {
	w.mu.Lock()
	n := len(w.idle)
	if n == 0 {
		w.live++
		w.mu.Unlock()
		go w.work(x)
		return
	}
	c := w.idle[n-1]
	w.idle = w.idle[:n-1]
	w.mu.Unlock()
	c <- x // has room: a parked worker's channel is empty
}

func (w *workers) work(x *cell) {
	defer w.leave() // deferred, because a Receive may call runtime.Goexit
	c := make(chan *cell, 1)
	for x != nil {
		x.run()
		if !w.park(c) {
			return
		}
		x = <-c
	}
}

func (w *workers) park(c chan *cell) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.idle) >= w.max {
		return false
	}
	w.idle = append(w.idle, c)
	return true
}

func (w *workers) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.live--
	if w.closed && w.live == 0 {
		close(w.ended)
	}
}

// close ends the parked workers, and the busy ones when they are done. It may be
// called again.
func (w *workers) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.closed = true
	for _, c := range w.idle {
		close(c)
	}
	w.idle = nil
	if w.live == 0 {
		close(w.ended)
	}
}
