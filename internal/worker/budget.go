package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/actorswarm/swarm/budget"
	"github.com/actorswarm/swarm/internal/workerapi"
)

// askAgain is how long a node waits for an owner that does not answer.
const askAgain = 200 * time.Millisecond

// Reserve implements actors.Owner. Under a limit a request waits for an owner: what
// is left of the budget only the owner knows.
func (w *Worker) Reserve(ctx context.Context, k budget.Request) (int64, func(), error) {
	if !w.bounded.Load() {
		return k.Output, func() {}, nil
	}
	key := rand.Text()
	landed := func() { w.land(key) }
	for {
		out, err := askOwner(ctx, w, workerapi.UpReserve, workerapi.ReserveIn{Launch: w.o.Launch, Key: key, Ask: &k})
		switch {
		case ctx.Err() != nil:
			landed() // it may be held
			return 0, nil, context.Cause(ctx)
		case err != nil && !errors.As(err, new(*NoOwnerError)):
			return 0, nil, err
		case err == nil && !out.Wait:
			return out.Output, landed, nil
		}
		if k.Waits != nil {
			k.Waits()
			k.Waits = nil
		}
		if err == nil {
			continue // the owner has waited
		}
		pause := time.NewTimer(askAgain)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// land tells the owner with the next report that a request is charged.
func (w *Worker) land(key string) {
	w.mu.Lock()
	w.landed = append(w.landed, key)
	w.mu.Unlock()
	w.reportSoon()
}

// reported forgets the requests that a report has told of.
func (w *Worker) reported(keys []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.landed = slices.DeleteFunc(w.landed, func(key string) bool { return slices.Contains(keys, key) })
}

// reportSoon makes the worker report now.
func (w *Worker) reportSoon() {
	select {
	case w.dirty <- struct{}{}:
	default:
	}
}
