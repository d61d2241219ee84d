package coordinator

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/actorswarm/swarm/actors/state"
	"github.com/actorswarm/swarm/internal/status"
	"github.com/actorswarm/swarm/internal/turn"
	"github.com/actorswarm/swarm/mailbox"
)

// Compact replaces the older part of an agent's conversation by a summary of
// the agent's own model: at its next step if it is in a turn, at once if it
// rests. It returns when the summary is on record. The error wraps turn.ErrNothing if
// the conversation is too short.
func (c *Coordinator) Compact(ctx context.Context, id mailbox.AgentID) error {
	if _, ok := c.replica(id); ok {
		return c.opts.Remote.Compact(ctx, id)
	}
	h := c.hosts.get(id)
	if h == nil {
		return fmt.Errorf("%s does not live: there is nothing to compact", id)
	}
	done := h.compactions.add()
	h.ref.Tell(wakeUp{})
	select {
	case err := <-done:
		return err
	case <-h.ended:
		return fmt.Errorf("%s has ended before it was compacted", id)
	case <-c.scope.Done():
		return context.Cause(c.scope)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// compactions are the open requests to compact the conversation of an agent. The
// methods may be called from any goroutine.
type compactions struct {
	mu   sync.Mutex
	open []chan error // guarded by mu
}

// add adds a request. The channel receives its outcome.
func (w *compactions) add() <-chan error {
	done := make(chan error, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = append(w.open, done)
	return done
}

func (w *compactions) any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.open) > 0
}

// take takes all requests and returns a function that answers them with their outcome;
// nil if there are none.
func (w *compactions) take() func(error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	open := w.open
	w.open = nil
	if open == nil {
		return nil
	}
	return func(err error) {
		for _, done := range open {
			done <- err
		}
	}
}

// compact compacts the conversation of an agent that rests.
func (h *host) compact(ctx context.Context) ending {
	answer := h.compactions.take()
	if answer == nil {
		return proceed
	}
	err := errCut
	defer func() { answer(err) }()
	err = h.compactNow(ctx)
	h.moveTo(state.Idle, "")
	switch {
	case errors.Is(context.Cause(ctx), turn.ErrShutdown):
		return suspended
	case h.c.opts.Store.Err() != nil:
		return h.runtimeFailed(err)
	}
	return proceed
}

func (h *host) compactNow(ctx context.Context) error {
	watched, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	run := h.newTurn(cut)
	defer h.slot.Release()
	defer h.watchdog.Stop()
	return run.Compact(watched)
}

// facts returns what an agent reads after a compaction: what the runtime knows of the
// agents around it.
func (h *host) facts() string {
	text := status.Facts(h.t.Spec(), h.c.Status(), h.c, len(h.t.Unread()))
	if h.c.opts.Facts != nil {
		if more := h.c.opts.Facts(Agent{h.t, h.t.Spec()}); more != "" {
			text += "\n" + more
		}
	}
	return text
}
