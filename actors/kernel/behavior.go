package kernel

// Behavior is what an actor does. Receive is called with one message at a time
// and should return soon: long work belongs in a goroutine that sends its result
// to c.Self. Do not start bare goroutines that may panic; a panic there ends the
// process.
type Behavior interface {
	Receive(c *Context, msg any)
}

// Func is a function as a Behavior.
type Func func(c *Context, msg any)

// Receive calls f.
func (f Func) Receive(c *Context, msg any) { f(c, msg) }

// Control marks messages that overtake the ordinary ones: stop requests,
// approvals, interrupts. Among themselves they keep their order.
type Control interface {
	ControlMessage()
}

// Started is the first message of every behavior.
type Started struct {
	Restarts int    // 0 for the first behavior of the actor
	Cause    *Panic // what ended the behavior before this one; nil on the first
}

// Restarting is received by a behavior that panicked, at once and on its own
// goroutine: the place to end what the behavior started outside. Another
// behavior takes over after the back-off; a stop that comes sooner is still
// received by this one.
type Restarting struct {
	Cause *Panic
}

// Stopping announces that the actor is about to stop. Messages sent to it between here and
// Stopped are in Stopped.Undelivered.
type Stopping struct{}

// Stopped is the last message. Undelivered holds what was queued and never
// received, control messages first, each class in its order.
type Stopped struct {
	Undelivered []any
}

// Context is the actor as its behavior sees it. It stays valid after Receive has
// returned.
type Context cell

// Self is the reference to the actor.
func (c *Context) Self() Ref { return Ref{(*cell)(c)} }

// Name is the name the actor was spawned with.
func (c *Context) Name() string { return (*cell)(c).name() }

// System is the actor's system, to spawn siblings. There are no children: a
// restart would take them down with their parent.
func (c *Context) System() *System { return c.sys }
