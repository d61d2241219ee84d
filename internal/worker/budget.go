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

// retryInterval is the time between two requests to an owner that does not answer.
const retryInterval = 200 * time.Millisecond

// Reserve implements coordinator.Owner. Under a limit it waits for an owner, because only
// the owner knows the rest of the budget.
func (w *Worker) Reserve(ctx context.Context, k budget.Request) (int64, func(), error) {
	if !w.bounded.Load() {
		return k.MaxOutput, func() {}, nil
	}
	key := rand.Text()
	landed := func() { w.markCharged(key) }
	for {
		out, err := callOwner(ctx, w, workerapi.UpReserve, workerapi.ReserveIn{Launch: w.options.Launch, Key: key, Request: &k})
		switch {
		case ctx.Err() != nil:
			landed() // it may be held
			return 0, nil, context.Cause(ctx)
		case err != nil && !errors.As(err, new(*NoOwnerError)):
			return 0, nil, err
		case err == nil && !out.Wait:
			return out.Output, landed, nil
		}
		if k.OnWait != nil {
			k.OnWait()
			k.OnWait = nil
		}
		if err == nil {
			continue // the owner has waited before it replied
		}
		pause := time.NewTimer(retryInterval)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// markCharged makes the next report contain that a reservation was charged.
func (w *Worker) markCharged(key string) {
	w.mu.Lock()
	w.charged = append(w.charged, key)
	w.mu.Unlock()
	w.reportSoon()
}

// clearCharged removes the reservations that a report has named.
func (w *Worker) clearCharged(keys []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.charged = slices.DeleteFunc(w.charged, func(key string) bool { return slices.Contains(keys, key) })
}

// reportSoon makes the worker report at once.
func (w *Worker) reportSoon() {
	select {
	case w.reportNow <- struct{}{}:
	default:
	}
}
