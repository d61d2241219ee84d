package coordinator

import "time"

// rest is the message to a host whose agent has been idle for long.
type rest struct{}

// sweep unloads the conversations of agents that have been idle for the time of the
// policy, until the session ends. One loop over all hosts is cheaper than a timer for
// each, so an agent may stay half as long again.
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

// isIdle reports whether the agent has been idle for as long as keep, and its
// conversation is in memory. It may be called from any goroutine.
func (h *host) isIdle(keep time.Duration) bool {
	return !h.running.Load() && h.t.Loaded() && time.Since(h.t.Record().Active) >= keep
}

// forget unloads the conversation of an agent that is idle. Its tools stay, with the
// files that it has read and the commands that run in the background.
func (h *host) forget() {
	if !h.running.Load() && !h.isOver() {
		h.t.Forget()
	}
}
