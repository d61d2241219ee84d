package kernel

// Ref refers to an actor, alive or not. It is one pointer, comparable, and fit
// for a map key. The zero Ref refers to no actor and behaves as a stopped one.
type Ref struct{ x *cell }

// Tell queues msg and returns at once, from anywhere. To a stopped actor it is
// dropped and counted by System.Dropped.
func (r Ref) Tell(msg any) {
	if r.x == nil {
		return
	}
	if !r.x.post(msg, classOf(msg)) {
		r.x.sys.dropped.Add(1)
	}
}

// Stop asks the actor to stop as soon as the Receive in progress returns; what
// is queued goes to Stopped.Undelivered. It returns at once; wait for Done.
// Further calls do nothing.
func (r Ref) Stop() {
	if r.x != nil {
		r.x.post(protoactor().stop, system)
	}
}

// Done is closed when the actor is gone: Stopped was received, the name is free,
// Parked was called. It is not closed by a restart.
func (r Ref) Done() <-chan struct{} {
	if r.x == nil {
		return closedChan()
	}
	return r.x.doneChan()
}

// Name is the name the actor was spawned with, "" for the zero Ref.
func (r Ref) Name() string {
	if r.x == nil {
		return ""
	}
	return r.x.name()
}

func (r Ref) String() string { return r.Name() }

func (x *cell) doneChan() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := x.extraLocked()
	if r.done == nil {
		r.done = make(chan struct{})
		if r.ended {
			close(r.done)
		}
	}
	return r.done
}

func closedChan() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
