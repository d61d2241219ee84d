package coordinator

import (
	"sync"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/coordinator/report"
)

// progressEvery is the least time between two reports of one agent's progress.
const progressEvery = time.Second

// meter limits how often an agent's progress is published. Its methods may be called
// from any goroutine.
type meter struct {
	mu        sync.Mutex
	published time.Time // guarded by mu
	tool      string    // guarded by mu
}

// observe follows the agent's facts. due is true at most once in progressEvery.
func (m *meter) observe(f event.Fact, now time.Time) (tool string, due bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch f := f.(type) {
	case event.CallStarted:
		m.tool = f.Call.Name
	case event.Answered, event.CallFinished:
	default:
		return "", false
	}
	if now.Sub(m.published) < progressEvery {
		return "", false
	}
	m.published = now
	return m.tool, true
}

// progress publishes the progress of an agent that works for another.
func (h *host) progress(f event.Fact) {
	if h.t.Spec().Role == agent.Lead {
		return
	}
	now := time.Now()
	tool, due := h.meter.observe(f, now)
	if !due {
		return
	}
	l := h.t.Record()
	u := l.Usage
	h.c.publish(h.t, event.Progress{
		ToolUses: l.ToolUses, LastTool: tool, Took: now.Sub(report.Began(l)),
		Tokens: u.InputTokens + u.OutputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens,
	})
}
