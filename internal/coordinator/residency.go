package coordinator

import "time"

// rest tells a host that its agent has been idle for long.
type rest struct{}

// sweep lets go of the conversations of agents that have been idle for as long
// as the policy keeps them, until the session ends. One look at all hosts is
// cheaper than a timer for each, so an agent may stay half as long again.
func (c *Coordinator) sweep(keep time.Duration) {
	tick := time.NewTicker(max(keep/2, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			for _, h := range c.hosts.all() {
				if h.isIdle(keep) {
					h.ref.Tell(rest{})
				}
			}
		case <-c.scope.Done():
			return
		}
	}
}

// isIdle reports whether the agent has had nothing to do for as long as keep,
// and holds memory for it. Any goroutine may ask.
func (h *host) isIdle(keep time.Duration) bool {
	return !h.running.Load() && h.t.Loaded() && time.Since(h.t.Record().Active) >= keep
}

// forget lets go of the conversation of an agent that is idle. Its tools stay,
// with the files that it has seen and the commands that run in the background.
func (h *host) forget() {
	if !h.running.Load() && !h.isOver() {
		h.t.Forget()
	}
}
