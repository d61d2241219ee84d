package coordinator

import (
	"context"
	"errors"
	"fmt"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/transcript"
)

// isolate gives a new agent its directory before it starts: an agent that cannot be
// isolated does not start. done releases the directory if the agent was not made.
func (c *Coordinator) isolate(spec *agent.Spec) (done func(), err error) {
	if c.opts.Isolate == nil {
		return nil, errors.New("isolation cannot be given here; the agent was not started")
	}
	incarnation := uint32(1)
	if spec.Where != "" {
		incarnation = 0 // its own process takes over what this one has leased
	}
	own, err := c.opts.Isolate(c.scope, *spec, incarnation)
	if err != nil {
		return nil, fmt.Errorf("the agent was not started, since it cannot be isolated: %w", err)
	}
	spec.Dir = own.Dir
	id := spec.ID
	return func() {
		if _, born := c.opts.Store.Get(id); born {
			return // the first incarnation of its host takes it over
		}
		if _, err := own.Release(c.scope); err != nil {
			c.opts.Logger.Warn("the directory of an agent that did not start is left", "dir", own.Dir, "error", err)
		}
	}, nil
}

// isolate takes the agent's directory over for a new incarnation of its host.
func (h *host) isolate(ctx context.Context, incarnation uint32) error {
	spec := h.t.Spec()
	if spec.Isolation == "" {
		return nil
	}
	own, err := h.c.opts.Isolate(ctx, spec, incarnation)
	switch {
	case err != nil:
		return fmt.Errorf("the agent's own directory %s cannot be taken over: %w", spec.Dir, err)
	case own.Dir != spec.Dir:
		return fmt.Errorf("the agent's own directory was %s and is now %s", spec.Dir, own.Dir)
	}
	h.isolation = own
	return nil
}

// release releases the agent's own directory, if it has one, and returns why it is
// kept. A directory that cannot be released is kept.
func (h *host) release() *agent.KeptDir {
	spec := h.t.Spec()
	if spec.Isolation == "" {
		return nil
	}
	ctx := context.WithoutCancel(h.parent)
	err := h.takeOver(ctx)
	if err == nil {
		var kept *agent.KeptDir
		if kept, err = h.isolation.Release(ctx); err == nil {
			h.isolation = nil
			return kept
		}
	}
	h.emit(event.Warning{Text: fmt.Sprintf("the directory %s of %s could not be released: %v", spec.Dir, agent.DisplayName(spec), err)})
	return &agent.KeptDir{Path: spec.Dir, Why: []string{err.Error()}}
}

// releaseRemote releases the directory of an agent whose process has ended without
// doing so, and returns why it is kept.
func (rs *replicas) releaseRemote(ctx context.Context, t *transcript.Transcript) *agent.KeptDir {
	l := t.Record()
	if l.Spec.Isolation == "" || l.Closed || rs.c.opts.Isolate == nil {
		return l.KeptDir
	}
	own, err := rs.c.opts.Isolate(ctx, l.Spec, l.Incarnation+1)
	if err == nil {
		var kept *agent.KeptDir
		if kept, err = own.Release(ctx); err == nil {
			return kept
		}
	}
	rs.c.publish(t, event.Warning{Text: fmt.Sprintf("the directory %s of %s could not be released: %v", l.Spec.Dir, agent.DisplayName(l.Spec), err)})
	return &agent.KeptDir{Path: l.Spec.Dir, Why: []string{err.Error()}}
}

// takeOver takes the directory over from an earlier host, as after a crash.
func (h *host) takeOver(ctx context.Context) error {
	if h.isolation != nil {
		return nil
	}
	incarnation, err := h.t.Wake()
	if err != nil {
		return err
	}
	return h.isolate(ctx, incarnation)
}
